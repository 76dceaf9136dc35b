"""Count how often groups of people are mentioned in a corpus, and which words occur near them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
