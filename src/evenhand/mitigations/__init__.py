"""What makes a model treat people better, or claims to: functions from a language model to a language model."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
