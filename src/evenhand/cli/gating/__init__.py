"""The gate's flags, for verbs with results that can fail a gate, and their exit."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
