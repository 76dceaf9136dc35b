"""The cost of debiasing in dialogue: state tracking and response generation, each trained and tested."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
