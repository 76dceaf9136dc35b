"""Numbers about groups: means of a score, a salary, a length, compared inside their axis."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
