"""The consistency protocol: does a mitigation work because of what its text says?"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
