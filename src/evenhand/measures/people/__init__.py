"""Measures on people's answers: preferences between models, ratings, who agrees, and what classifiers miss of it."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
