"""How far the classifiers that judged a run agree, and how far people who labelled the same things do."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
