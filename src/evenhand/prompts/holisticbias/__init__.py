"""HolisticBias: descriptors, noun phrases and sentences of versions 1.0 and 1.1."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
