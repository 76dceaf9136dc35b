"""Files of SQLite: looked at before they are touched, opened as their disk allows, their journal emptied."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
