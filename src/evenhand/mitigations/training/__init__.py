"""Train a model to be less biased: one training loop, the methods that use it, and the resulting folder or adapter."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
