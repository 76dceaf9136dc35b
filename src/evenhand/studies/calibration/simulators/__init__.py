"""Simulators of data with known bias, in plain numpy. They import no measures."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
