"""RedditBias: its bias specifications, the published pairs, and the steps that build pairs from Reddit comments."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
