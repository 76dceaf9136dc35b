"""Engines for people's votes: means over persons and items crossed, exact tests, latent classes, reliability."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
