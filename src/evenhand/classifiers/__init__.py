"""Classifiers of texts: load one by name, or write your own with the interface `Classifier`."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
