"""Statistics of judgements: means over annotators and items, exact tests, latent classes and reliability.

Parameters and docstrings call a judgement "vote" and an annotator "person". A judged text or conversation is an item.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
