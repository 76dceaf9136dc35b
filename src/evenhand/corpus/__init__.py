"""How often people are spoken of in a corpus: terms, their hits in documents, exact counts that add up."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
