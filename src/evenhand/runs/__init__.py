"""The engine and the record: plan, requests, shards, labels, resume, manifest, run directory."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
