"""Descriptors beside the others of their axis, contrasts and nouns being samples: shifts and spreads, or their changes.

`moderated_shifts` and `pairwise_shifts` take differences of two models as they take one model's numbers.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
