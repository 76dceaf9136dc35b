"""Descriptors beside the others of their axis, over contrasts and nouns that are samples: shifts and their spread."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
