"""RedditBias: its bias specifications, and the steps from comments of Reddit to pairs of phrases."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
