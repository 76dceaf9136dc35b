"""Benchmarks of self-chats, which are conversations of a model with itself that begin with a name or a description."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
