"""Statistics: confidence intervals, tests, multiple testing, power, effect sizes, agreement and verdicts.

The functions call no model, read no file and show no progress bar. They take arrays or tables, and return numbers,
arrays or small immutable objects.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
