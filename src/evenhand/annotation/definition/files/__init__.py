"""Study files: YAML with the line of everything in it, items beside it, what is wrong in words, and writing."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
