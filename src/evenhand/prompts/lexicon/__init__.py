"""evenhand's own words for people: 13 axes of descriptors, and the nouns with which they are combined, as TOML."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
