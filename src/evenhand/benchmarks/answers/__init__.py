"""The benchmark of a user's own responses to questions from, or about, groups of people."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
