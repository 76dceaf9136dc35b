"""Readers of one file format each: they turn a stored file into documents and report damage."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
