"""Training a model out of a bias: one loop, what a method adds to it, and the folder or adapter that comes out."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
