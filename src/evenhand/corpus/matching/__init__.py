"""Where terms stand in documents: one pass over the text for all of them, with word boundaries."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
