"""The questions put to models, a folder each, and what the folders share: options, records, results, plain pages."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
