"""The same texts about other groups: gender, first names, and the groups of the lexicon, with every change listed."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
