"""Bias measures: functions from polars tables or arrays to estimates, intervals and tests. They call no model."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
