"""Adversarial triggers (tokens before a prompt): their objective, the search, and the mitigation that uses them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
