"""Measures on classifiers: agreement, error rates, and the amount of classifier error that a finding tolerates."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
