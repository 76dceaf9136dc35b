"""Benchmarks, each with prompts, a request to the model, measures and a card; and suites (sets) of benchmarks."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
