"""Pairs with an outlying member, by the rule of three standard deviations."""

import numpy as np

from evenhand.stats.arrays import Flags, Floats

DEVIATIONS = 3.0


def outlying_pairs(first: Floats, second: Floats, *, by_value: bool = False) -> Flags:
    """Which pairs have a member further than three standard deviations from its own list's mean.

    first, second: (n,), such as the perplexities of two texts. Deviations with the divisor n. by_value: as published, a
    pair also goes where its value equals an outlying value of another pair, of either list. Returns (n,).
    Source: the published code of Barikeri et al. 2021.

    >>> outlying_pairs(np.r_[np.ones(19), 100.0], np.ones(20)).nonzero()[0].tolist()
    [19]
    """
    lists = [np.asarray(values, dtype=np.float64) for values in (first, second)]
    far = [np.abs(values - values.mean()) > DEVIATIONS * values.std() for values in lists]
    if by_value:
        outlying = np.concatenate([values[flags] for values, flags in zip(lists, far, strict=True)])
        far = [np.isin(values, outlying) for values in lists]
    return np.asarray(far[0] | far[1])
