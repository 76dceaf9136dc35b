"""Whether verdicts hold: data of known truth, each measure’s own road, and what came out (`evenhand calibrate`)."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
