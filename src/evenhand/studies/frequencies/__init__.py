"""Frequencies of demographic terms in corpora: count, merge and show them, and relate them to a model's run."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
