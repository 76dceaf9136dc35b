"""Studies of models (one folder per study), and what they share: options, records, results and pages."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
