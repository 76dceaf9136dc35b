"""evenhand's own sentences: templates, the words that fill them, and texts for testing classifiers."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
