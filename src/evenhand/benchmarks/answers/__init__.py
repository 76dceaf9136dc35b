"""The benchmark of somebody's own answers: whatever was asked of, or about, some groups of people."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
