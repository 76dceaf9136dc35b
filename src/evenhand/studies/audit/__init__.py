"""An audit of one model: prompts, execution, re-classification, result, page and table."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
