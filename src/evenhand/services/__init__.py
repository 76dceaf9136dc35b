"""Requests to services: the client, rate limits, the reading of responses, and the store of responses."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
