"""How a model is asked: with prompts of the user, and in a conversation."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
