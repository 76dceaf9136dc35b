"""Whether groups of things differ that can only be held beside each other: how alike two of them are.

Things of one group are compared with each other and with those of other groups inside blocks that all groups share.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
