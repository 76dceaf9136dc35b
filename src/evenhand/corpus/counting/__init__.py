"""Convert hits to counts that can be added exactly, regardless of how documents were divided."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
