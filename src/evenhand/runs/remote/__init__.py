"""Runs in object storage: a working copy on this machine, which is synchronised with the storage."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
