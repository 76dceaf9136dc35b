"""Measures on classifiers: agreement, error rates, how much error a finding survives."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
