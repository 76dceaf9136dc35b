"""Data of two dialogue tasks, MultiWOZ 2.0 and DSTC7, with which RedditBias measures the cost of debiasing."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
