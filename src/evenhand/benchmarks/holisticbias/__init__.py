"""The benchmarks on HolisticBias: likelihoods of its sentences and phrases, replies to them, and ROBBIE's regard."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
