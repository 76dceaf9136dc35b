"""Prepare what is sent to a model: prompts of the user, variations of prompts, and conversations."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
