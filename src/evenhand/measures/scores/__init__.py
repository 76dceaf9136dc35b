"""Measures on numeric outcomes, such as a score, salary or length: means of groups, compared within their axis."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
