"""The scoring engine: token sequences, the prefix tree, the output head, the check of fast paths against plain ones."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
