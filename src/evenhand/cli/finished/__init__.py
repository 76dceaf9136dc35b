"""Commands for finished runs: compare classifiers, show the report again, classify again."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
