"""Readers of one format each: from a stored file to documents, and what is wrong with it."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
