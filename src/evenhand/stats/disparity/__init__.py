"""How far a number can be believed: intervals, nulls, multiplicity, power, effect sizes, verdicts.

Knows no model, file or progress bar: arrays in; numbers, arrays or small frozen dataclasses out.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
