"""Definition of a study: items, questions, rules and surveys, read from YAML with line numbers in errors."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
