"""The `LanguageModel` interface, its backends, and the engines that score and generate text."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
