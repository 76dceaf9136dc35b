"""Read files of the user: prompts for a model, and texts to be measured."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
