"""Statistics of clustered outcomes: sign-flip tests with their intervals, minimum detectable effects, resampling.

Outcomes of one cluster (for example the responses to one prompt) may be correlated. The methods move whole clusters
and assume nothing about the strength of the correlation. `flips` has the test with its interval, `flip_power` the
minimum detectable effect, and `resampling` the bootstrap over clusters.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
