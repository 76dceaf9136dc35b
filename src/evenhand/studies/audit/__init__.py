"""Audits of one model: selecting prompts, running, classifying again, and showing the result in page and terminal."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
