"""Runs on object stores: a working copy on this machine, of which the store has the truth."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
