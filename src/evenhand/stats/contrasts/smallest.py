"""Compute the minimum detectable shift of a planned audit and of measured data, with the same code."""

from functools import cache

import numpy as np
from numpy.polynomial.legendre import leggauss
from scipy.special import gammaincinv, ndtr, stdtrit

from evenhand.schema import UsageError
from evenhand.stats.arrays import Floats, mean_of_known
from evenhand.stats.contrasts.axis_test import SKEWED_FREEDOM, flips_reach, skewed_reach
from evenhand.stats.contrasts.moderation import (
    LEAST_DIRECTIONS,
    LEAST_WEIGHT,
    bounded_weight,
    expected_dimensions,
    prior_weight,
)
from evenhand.stats.power import POWER

_NODES = 128
_RESAMPLES = 200
_SHARE = 0.94
"""Share of resamples in which a shift must be significant, so that it is significant in 80% of new data sets.

Resamples of few contrasts show too little skewness.
"""


def smallest_shift(
    variance: Floats,
    freedom: Floats,
    *,
    margin: float = 0.0,
    level: float = 0.05,
    power: float = POWER,
) -> float:
    """Return the true shift of a single descriptor that is detected with the given power, averaged over descriptors.

    Parameters
    ----------
    variance, freedom : numpy.ndarray, shape (d,)
        Squared standard error of each descriptor's shift, and its degrees of freedom, as in `moderated_shifts`.
    level : float
        Significance level of the axis.
    power : float
        Power.
    margin : float
        Largest shift, in nats, that counts as no difference.

    Returns
    -------
    float
        Shift in nats. NaN with fewer than two descriptors of known variance.

    Notes
    -----
    The power is that of the noncentral t. The descriptor must reach level / d, as in Simes' test. This is slightly
    stricter than Benjamini-Hochberg.

    >>> spread = np.full(16, 0.02)
    >>> few, more = (smallest_shift(spread, np.full(16, f)) for f in (5.0, 12.0))
    >>> few > more > 0
    True
    """
    usable = np.isfinite(variance) & (freedom > 0)
    number = int(usable.sum())
    if number < 2:
        return float("nan")
    tests = 1 if number == 2 else number  # two descriptors are one comparison
    tail = level / tests / 2
    error, df = np.sqrt(variance[usable]), freedom[usable]
    critical = stdtrit(df, 1 - tail)
    nodes, weights = _quadrature()
    # t exceeds the critical value if its normal numerator exceeds critical value x (estimated / true error)
    needed = critical[:, None] * np.sqrt(2 * gammaincinv(df[:, None] / 2, nodes) / df[:, None])

    def detection_power(shift: float) -> float:
        beyond = np.divide(shift, error, out=np.full(number, np.inf), where=error > 0)
        return float((ndtr(beyond[:, None] - needed) @ weights).mean())

    if detection_power(0.0) >= power:
        return margin
    below, above = 0.0, float((error * (critical * 10 + 10)).max())
    for _ in range(60):
        middle = (below + above) / 2
        below, above = (below, middle) if detection_power(middle) >= power else (middle, above)
    return margin + above


def smallest_skewed_shift(
    rows: Floats,
    variance: Floats,
    freedom: Floats,
    *,
    margin: float = 0.0,
    level: float = 0.05,
    seed: int = 0,
) -> float:
    """Return the minimum detectable shift under the skewness-corrected test, of the descriptor for which it is largest.

    Parameters
    ----------
    rows : numpy.ndarray, shape (contrasts, d)
        Observed shifts by contrast.
    variance, freedom, margin, level
        As in `smallest_shift`.
    seed : int
        Random seed of the resamples.

    Returns
    -------
    float
        Shift in nats, on the side on which it is harder to detect.

    Notes
    -----
    The skewness, and its variation between small samples of contrasts, come from 200 resamples of contrasts. The
    variances of resamples are shrunken towards their mean, as the observed ones are. A constant shift is added to all
    contrasts. It must be significant in 94% of the resamples, which corresponds to about 80% of data sets like the
    observed one.

    >>> rows = np.random.default_rng(0).exponential(size=(12, 4)) - 1
    >>> given = {"variance": np.full(4, 1 / 12), "freedom": np.full(4, 11.0), "level": 0.01}
    >>> smallest_skewed_shift(rows, **given) > smallest_shift(**given)
    True
    """
    contrasts, number = rows.shape
    away = (rows - mean_of_known(rows, 0)) * (contrasts / (contrasts - 1)) ** 0.5
    places = np.random.default_rng(seed).integers(0, contrasts, (contrasts, _RESAMPLES))
    drawn = away[places]
    means = mean_of_known(drawn, 0)
    scales = [
        contrasts * own + LEAST_WEIGHT * own.mean(axis=-1, keepdims=True)
        for own in (mean_of_known((drawn - means) ** 2, 0), mean_of_known(away**2, 0))
    ]
    errors = np.sqrt(variance * np.divide(scales[0], scales[1], out=np.ones_like(means), where=scales[1] > 0))
    tests = 1 if number == 2 else number  # two descriptors are one comparison
    flat, many = drawn.reshape(contrasts, -1), np.tile(freedom, _RESAMPLES)
    largest = 0.0
    for side in (1, -1):
        reach = skewed_reach(many, flat, level / tests, side).reshape(means.shape)
        needed = margin + errors * reach - side * means
        largest = max(largest, float(np.quantile(needed, _SHARE, axis=0).max()))
    return largest


def planned_shift(
    contrasts: int,
    nouns: float,
    descriptors: int,
    *,
    own_nouns: bool,
    margin: float = 0.0,
    level: float = 0.05,
    pair_sd: float = 0.3,
    sentence_sd: float = 0.3,
    noun_sd: float = 0.0,
) -> float:
    """Return the smallest shift, in nats, that a planned audit will probably detect.

    Parameters
    ----------
    contrasts, nouns, descriptors : int
        Numbers of contrasts (pairs of templates), nouns per contrast, and descriptors.
    pair_sd : float
        SD of a descriptor's true shift between contrasts.
    sentence_sd : float
        SD of one sentence. Each number is the difference of two sentences.
    noun_sd : float
        SD of the noun effects that all contrasts share, if nouns are crossed with contrasts.
    own_nouns : bool
        True if each contrast has its own nouns; False if nouns are crossed with contrasts.
    margin : float
        Largest shift, in nats, that counts as no difference.
    level : float
        Significance level of the axis.

    Returns
    -------
    float
        Shift in nats, computed as after a run. NaN with fewer than three contrasts or two descriptors, and with two or
        three descriptors if there are too few contrasts.

    >>> planned_shift(12, 2, 32, own_nouns=True) < planned_shift(5, 9, 16, own_nouns=True)
    True
    """
    if min(pair_sd, sentence_sd, noun_sd) < 0:
        raise UsageError(
            f"Standard deviations must be 0 or more (in nats), got pair_sd={pair_sd}, sentence_sd={sentence_sd}, "
            f"noun_sd={noun_sd}."
        )
    if contrasts < 3 or descriptors < 2 or nouns < 1:
        return float("nan")
    noise = 2 * sentence_sd**2
    between = noise + nouns * pair_sd**2
    free = contrasts * (nouns - 1) if own_nouns else (contrasts - 1) * (nouns - 1)
    weight = prior_weight(noise, between, contrasts, descriptors, free)
    directions = expected_dimensions(contrasts, descriptors)
    weight = bounded_weight(weight, directions, contrasts, descriptors)
    variance = between / (contrasts * nouns) + (0.0 if own_nouns else noun_sd**2 / nouns)
    variance *= descriptors / (descriptors - 1)
    freedom = min(weight + contrasts - 1, (contrasts - 1) * (descriptors - 1))
    if directions < LEAST_DIRECTIONS:
        if not flips_reach(contrasts, level):
            return float("nan")
        freedom /= SKEWED_FREEDOM
    return smallest_shift(
        np.full(descriptors, variance),
        np.full(descriptors, freedom),
        margin=margin,
        level=level,
    )


@cache
def _quadrature() -> tuple[Floats, Floats]:
    nodes, weights = leggauss(_NODES)
    return (np.asarray(nodes) + 1) / 2, np.asarray(weights) / 2
