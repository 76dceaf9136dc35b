"""Projections: remove directions that distinguish groups from the input of a trained model's output matrix."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
