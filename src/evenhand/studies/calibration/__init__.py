"""Check verdicts on simulated data with known bias, through each measure’s pipeline (`evenhand calibrate`)."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
