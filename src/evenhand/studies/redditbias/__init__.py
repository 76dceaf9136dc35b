"""RedditBias' Tables 4 and 5: bias, perplexity and dialogue tasks of a model before and after each debiasing."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
