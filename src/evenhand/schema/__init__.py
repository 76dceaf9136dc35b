"""What every floor of the house shares: tables, cards, errors, and files that are written whole."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
