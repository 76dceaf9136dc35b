"""The drawing kit: charts, plots, pages, tables in the terminal, wording. Knows no study."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
