"""Documents from files of any kind and place, what could not be read counted by reason."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
