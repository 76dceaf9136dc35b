"""Models and classifiers that workers of a cluster hold, asked as if they were here; Ray is behind one file."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
