"""Arrange units for permutation tests. With many units, the sums of groups are sampled without permuting each unit."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
