"""First names by gender, race and ethnicity, and conversation openers with them; personas and occupations."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
