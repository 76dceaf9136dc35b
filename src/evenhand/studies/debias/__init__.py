"""Train a model to reduce a bias: from texts to a folder that every command accepts as a model."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
