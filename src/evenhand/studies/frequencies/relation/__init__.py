"""A count joined with a run: does the model's treatment of a group follow how often it was seen?"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
