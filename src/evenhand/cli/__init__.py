"""The command line: one short module per command, which parses the arguments, calls a function and prints."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
