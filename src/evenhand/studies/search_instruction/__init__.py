"""The search for the instruction behind which a model writes least that is harmful."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
