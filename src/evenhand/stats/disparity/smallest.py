"""Parts of minimum detectable effects: the change of one group, the power of F tests, and the critical z of a plan."""

from math import inf, sqrt

import numpy as np
from scipy.special import chdtri, fdtri, ncfdtr, ndtr, ndtri

from evenhand.stats.arrays import Floats
from evenhand.stats.disparity.supports import Z
from evenhand.stats.disparity.tails import critical_value

POWER = 0.8
PLANNED_CORRELATION = 0.3
"""Correlation of the responses to a prompt that is assumed before a run."""
FAR, PIECES = 1e3, 1000
"""Noncentrality from which scipy's noncentral F may fail, and number of chi-square quantiles used instead."""


def smallest_change(
    z: float,
    variance: tuple[float, float],
    others: float,
    units: float,
    scale: float,
    rates: tuple[float, float] | None,
) -> float:
    """Return the change d with d = z SE(d) + 0.84 SD(d); infinite if no possible change is large enough.

    0.84 is the normal quantile of 80% power. The variance of a share depends on the share, so both terms depend on d.

    Parameters
    ----------
    z : float
        Number of standard errors that the test requires.
    variance : tuple of float
        Variances of scaled residuals, for paired and for independent responses. The variance that a change adds is not
        shared by both models, so it counts as independent.
    others : float
        Squared standard error of the mean of the other groups.
    units, scale : float
        Number of units of the group, and the expected SD of the change of one unit.
    rates : tuple of float, or None
        Rate of the group before, and rate after the mean change of all groups. None if outcomes are not shares.
    """
    power = float(ndtri(POWER))
    if rates is None:
        return float((z + power) * sqrt(variance[0] * scale**2 / units + others))
    before, after = rates
    sign = 1.0 if after <= 0.5 else -1.0
    room = 1 - after if sign > 0 else after
    old = (units * before + 0.5) / (units + 1)

    def variance_sum(rate: float) -> float:
        now = (units * rate + 0.5) / (units + 1)
        return float(old * (1 - old) + now * (1 - now))

    def beyond(d: float) -> float:
        moved = variance_sum(after + sign * d)
        added = max(moved - variance_sum(after), 0.0)
        found = variance[0] * (moved - added) + variance[1] * added
        return d - z * sqrt(variance[0] * moved / units + others) - power * sqrt(found / units + others)

    if not beyond(room) > 0 > beyond(0.0):
        return inf
    from scipy.optimize import brentq

    return float(brentq(beyond, 0.0, room))


def power_of_f(signal: float, between: float, within: float, critical: float) -> float:
    """Return the probability that a noncentral F exceeds the critical value, for any noncentrality.

    `signal` is the noncentrality, and `between` and `within` are the degrees of freedom. For large noncentralities, the
    numerator is approximated as the cube of a normal variable (Abdel-Aty 1954), averaged over quantiles of the
    denominator.

    >>> [round(power_of_f(signal, 1.0, 8.0, 5.32), 2) for signal in (0.0, 10.0, 2467.1, 1e9)]
    [0.05, 0.79, 1.0, 1.0]
    """
    if signal < FAR and np.isfinite(below := float(ncfdtr(between, within, signal, critical))):
        return 1 - below
    noise = chdtri(within, (np.arange(PIECES) + 0.5) / PIECES)
    centre = between + signal
    spread = 2 / 9 * (centre + signal) / centre**2
    return float(
        ndtr(-(np.cbrt(critical * between / within * noise / centre) - 1 + spread) / sqrt(spread)).mean()
    )


def signal_found(between: float, within: float, level: float) -> float:
    """Return the noncentrality that an F test (degrees of freedom `between` and `within`) detects with 80% power.

    >>> round(signal_found(1.0, 1e6, 0.05), 2)
    7.85
    """
    from scipy.optimize import brentq

    critical = float(fdtri(between, within, 1 - level))
    top = 8.0
    while power_of_f(top, between, within, critical) < POWER:
        top *= 4
    return float(brentq(lambda x: power_of_f(x, between, within, critical) - POWER, 0.0, top))


def planned_z(sizes: Floats, base: float, samples: int, level: float, seed: int = 0) -> Floats:
    """Return the |z| that is exceeded with probability `level` in simulations without differences (groups,).

    `sizes` (groups,) are the numbers of prompts, `base` the assumed rate and `samples` the responses per prompt.
    """
    generator = np.random.default_rng(seed)
    base = float(np.clip(base, 1e-4, 1 - 1e-4))
    total, groups = int(sizes.sum()), len(sizes)
    draws = int(np.clip(2_000_000 // total, 8, 400))
    concentration = 1 / PLANNED_CORRELATION - 1
    shape = (draws, total)
    rate = (
        base if samples == 1 else generator.beta(base * concentration, (1 - base) * concentration, size=shape)
    )
    values = generator.binomial(samples, rate, size=shape) / samples
    ends = np.cumsum(sizes).astype(np.intp)
    starts = ends - sizes.astype(np.intp)
    means = np.add.reduceat(values, starts, axis=1) / sizes
    left = values - np.repeat(means, sizes.astype(np.intp), axis=1)
    freedom = total - groups
    within = np.square(left).sum(axis=1) / freedom
    skew = float(np.mean(left**3)) / max(float(np.mean(np.square(left))) ** 1.5, 1e-12)
    inverse = 1 / sizes
    error = inverse + (inverse.sum() - inverse) / (groups - 1) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        z = (
            (means - means.mean(axis=1, keepdims=True))
            * (groups / (groups - 1))
            / np.sqrt(within[:, None] * error)
        )
    z = np.minimum(np.abs(np.nan_to_num(z, posinf=40.0, neginf=-40.0)), 40.0)
    cubes = inverse**2 - (np.square(inverse).sum() - np.square(inverse)) / (groups - 1) ** 3
    skewness = skew * cubes / error**1.5
    closed = critical_value(level, skewness, freedom)
    result = closed.copy()
    for size in np.unique(sizes):
        members = sizes == size
        pool = z[:, members]
        seen = max(level, min(20.0 / pool.size, 0.5))
        there = critical_value(seen, skewness[members], freedom)
        result[members] = closed[members] * float(np.quantile(pool, 1 - seen, method="higher")) / there
    return np.maximum(result, Z)
