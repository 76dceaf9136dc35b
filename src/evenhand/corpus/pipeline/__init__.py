"""Count a corpus rank by rank, in local processes or on other machines, with the same counts everywhere."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
