"""The engine that generates continuations: sampling, beam search, batches, model states and steering."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
