"""Display of results: drawings, pages, tables in a terminal, and wording. This package imports no study and no run."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
