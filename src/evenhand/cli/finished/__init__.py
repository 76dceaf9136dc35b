"""The verbs on what has been asked and judged: compare judges, show again, judge anew."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
