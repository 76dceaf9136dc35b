"""Run requests and record them: plan, requests, shards, labels, resuming, manifest and run folder."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
