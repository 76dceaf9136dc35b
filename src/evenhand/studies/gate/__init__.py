"""Whether a result may pass: conditions on what was found, and on what could have been seen."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
