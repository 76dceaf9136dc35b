"""The engine that scores texts: token sequences, prefix tree, output head, and a check against plain forward passes."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
