"""What a study is: items, questions, rules, surveys; read from YAML with line numbers."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
