"""SQLite files: check them before any change, open them as the disk allows, and empty their journal."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
