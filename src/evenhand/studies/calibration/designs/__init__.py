"""What is drawn to calibrate each measure, and by which road it goes to its verdict."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
