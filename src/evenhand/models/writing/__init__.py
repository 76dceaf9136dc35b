"""The generation engine: states of a model, seats, beams, drawing, steering by other contexts."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
