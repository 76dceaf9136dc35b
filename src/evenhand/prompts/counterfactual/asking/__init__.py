"""A user's own prompts, each asked about several groups: what is asked, what is left out and why, and the review."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
