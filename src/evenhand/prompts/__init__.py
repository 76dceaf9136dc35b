"""Prompts: evenhand's own from a lexicon and templates, published sets, downloaded data sets, and your own files."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
