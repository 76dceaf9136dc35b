"""What depends on a speaker's name in a conversation: token bins, words, phrases, occupations, told genders."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
