"""The gate's flags, for the verbs whose result may be kept from passing, and how such a verb ends."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
