"""Display of results: drawings, pages, tables in a terminal, and wording. It depends on no study and no run."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
