"""Recipes: each ties prompts, a request and measures together, with a card; and suites of them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
