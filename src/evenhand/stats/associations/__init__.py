"""Whether two numbers of the same things rise together, ranked within strata, where things hang together in clusters.

`partial` ranks within strata and takes out what is held equal; `relation` gives the correlation with the test,
interval and smallest correlation that whole clusters left out one after the other allow.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
