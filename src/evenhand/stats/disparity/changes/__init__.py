"""Two models on the same prompts: what changed for each group beside the others, and whether any fares no worse."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
