"""Mitigations: methods meant to reduce the bias of a model. Each takes a language model and returns a changed one."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
