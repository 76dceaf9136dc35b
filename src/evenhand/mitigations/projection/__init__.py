"""Projections: directions that tell groups apart taken out of what the output matrix reads, in finished weights."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
