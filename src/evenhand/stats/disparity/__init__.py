"""Differences within an axis: which groups lie apart, and which changed otherwise than the rest.

Arrays of one axis in; numbers, arrays and small frozen dataclasses out.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
