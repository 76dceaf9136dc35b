"""How often demographic terms stand in corpora: counted, merged, shown, and held against a model's run."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
