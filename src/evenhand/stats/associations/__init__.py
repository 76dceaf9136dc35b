"""Rank correlation of two quantities within strata, with clustered observations and control variables.

`rank_relation` returns the correlation with test, confidence interval and minimum detectable correlation.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
