"""People who are none: seeded, with a planted preference, for tests, calibration, load and examples."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
