"""How often terms stand in documents, beside which others, and in which sense: from counts by random folds."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
