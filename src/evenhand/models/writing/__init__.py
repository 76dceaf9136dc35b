"""The engine that writes continuations: drawing, beam search, batches and model states, steering."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
