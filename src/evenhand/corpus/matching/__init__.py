"""Find terms in documents, in one pass over the text for all terms, with word boundaries."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
