"""The terms to count, as an immutable table with a hash of its content."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
