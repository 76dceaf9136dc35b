"""Tests of the groups of one axis: which groups differ from the others, and which changed differently between two
models.

All functions take arrays of one axis, and return numbers, arrays or frozen dataclasses.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
