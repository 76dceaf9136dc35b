"""Measures on the effect of a speaker's name in a conversation: tokens, words, phrases, occupations and inferred
gender.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
