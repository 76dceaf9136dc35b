"""Questions put to models: an audit of one (later: before and after, consistency, calibration)."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
