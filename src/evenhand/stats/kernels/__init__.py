"""Tests of group differences that use only the similarity of two items, such as two texts.

Items are compared within blocks that all groups share, such as prompts.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
