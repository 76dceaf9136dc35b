"""What several benchmarks compute alike: rates of groups, paired contrasts, likelihoods, plans of detectable rates."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
