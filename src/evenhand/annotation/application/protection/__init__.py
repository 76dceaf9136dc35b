"""Protection of the pages from the network: addresses, headers, sizes, rate limits, signatures, forms."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
