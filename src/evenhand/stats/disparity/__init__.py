"""Do the groups of an axis differ, which, and by how much? Units are dealt to groups; limits agree with the deals."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
