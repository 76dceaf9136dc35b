"""Studies of models, one folder each, and their shared parts: options, records, results, plain pages."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
