"""Join a count with a run: does the model's treatment of a group depend on how often the corpus mentions it?"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
