"""Interactions of two columns of groups: their test, intervals and detectable effects."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
