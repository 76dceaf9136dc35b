"""The common base of all packages: table columns, cards, errors, options, files, keys, and the registry of names."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
