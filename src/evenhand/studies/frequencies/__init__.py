"""How often people are spoken of in a corpus: counted to the end, shown, and held against a run (`evenhand frequencies`)."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
