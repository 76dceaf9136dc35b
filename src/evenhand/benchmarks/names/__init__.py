"""The benchmarks of conversations that a name, or a description, opens: self-chats and every measure of them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
