"""The study of names: self-chats of a model and of mitigated versions with the same decoding, as in the paper."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
