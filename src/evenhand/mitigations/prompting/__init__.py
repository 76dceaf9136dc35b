"""Mitigations in front of the prompt: prefixes, instructions, instructions that a search found."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
