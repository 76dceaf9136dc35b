"""Changes between two models on the same prompts: of each group compared with the others, and non-inferiority tests."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
