"""What stands between the network and the pages: addresses, headers, sizes, rates, signatures, forms."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
