"""Simulate data sets of the groups of an axis, and test them as real ones are tested."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
