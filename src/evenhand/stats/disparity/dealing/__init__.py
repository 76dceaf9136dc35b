"""Units laid out to be dealt to their groups; of many units the groups' sums are drawn without dealing each."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
