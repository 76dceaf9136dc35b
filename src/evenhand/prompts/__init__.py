"""Prompt sets: lexicon x templates, published sets, downloaded data sets, and the files of a user."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
