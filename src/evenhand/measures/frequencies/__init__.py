"""Measures on a corpus: how often terms occur, together with which others, and in which sense.

They use counts of documents that were divided into folds at random, which give the intervals.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
