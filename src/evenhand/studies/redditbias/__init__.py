"""Reproduce Tables 4 and 5 of RedditBias: bias, perplexity and dialogue tasks of a model before and after debiasing."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
