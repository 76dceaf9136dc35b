"""The data of the two dialogue tasks that RedditBias tells the cost of debiasing by: MultiWOZ 2.0 and DSTC7."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
