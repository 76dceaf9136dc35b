"""Measures on the styles of replies: generation bias, style clusters, offensiveness."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
