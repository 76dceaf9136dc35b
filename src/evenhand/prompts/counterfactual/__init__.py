"""Rewrite texts about other groups: gender, first names, and the groups of the lexicon, with a list of all changes."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
