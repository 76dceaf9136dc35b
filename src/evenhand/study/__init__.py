"""A study: options with one definition. Flags, Python arguments, files of options and records are made of it."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
