"""Designs: kinds of simulated data for each measure, with the analysis that gives its verdict."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
