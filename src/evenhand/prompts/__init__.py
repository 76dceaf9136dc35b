"""What we say: lexicon x templates, published prompt sets, and a user's own files."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
