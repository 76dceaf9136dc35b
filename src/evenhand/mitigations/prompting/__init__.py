"""Mitigations that put text before the prompt: prefixes, built-in instructions, and instructions found by a search."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
