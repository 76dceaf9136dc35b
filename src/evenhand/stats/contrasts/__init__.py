"""Tests of descriptors against the others of their axis, with contrasts (pairs of templates) and nouns as samples.

A descriptor is a word or phrase that names a group, such as "old"; its axis is the characteristic, such as age. A
contrast is a pair of opposite templates, such as "I love X." and "I hate X.". `moderated_shifts` and `pairwise_shifts`
also accept differences of two models.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
