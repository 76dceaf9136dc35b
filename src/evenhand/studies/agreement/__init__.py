"""Agreement of the classifiers of a run, and agreement of people who labelled the same items."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
