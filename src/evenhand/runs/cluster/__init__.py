"""Models and classifiers that run on workers of a cluster but are used like local ones. Only one file depends on
Ray.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
