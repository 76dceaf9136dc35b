"""Outcomes that hang together in clusters: tests and intervals by flipping the signs of whole clusters.

Whatever binds the outcomes of one cluster to each other, they go this way or the other together; nothing is assumed
of how strongly. `flips` holds the test with its interval, `flip_power` the smallest effect that it finds.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
