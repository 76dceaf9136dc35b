"""Limits of the rate (or mean) of each group, for units that average several samples."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri, stdtrit

from evenhand.stats.arrays import Floats
from evenhand.stats.disparity.units import Units

COINS = 3.0
"""Prompts' worth of the worst case (one coin a unit) by which the learnt clustering is moderated."""
Z = float(ndtri(0.975))


@dataclass(frozen=True)
class GroupLimits:
    """Means of groups with what their limits need (groups,).

    phi: variance of a unit over that of one coin, as learnt; worth: independent coins that each group's units are
    worth, a real number; spread: pooled variance of units within groups; own: that of each group (NaN for one unit).
    """

    means: Floats
    sizes: Floats
    phi: Floats
    worth: Floats
    spread: float
    own: Floats
    freedom: int
    shares: bool

    @staticmethod
    def of(units: Units) -> "GroupLimits":
        """Learn the clustering from all groups together.

        phi is the pooled variance of units over that of coins with the groups' rates, between that of independent
        samples and 1, moderated by three units that are coins. Where units have unequal numbers of samples, each group
        gets the phi that its own numbers and the common correlation of samples imply.

        >>> units = Units.of(np.array([.25, .5, 0, 0, .25, 0, 1, .75, .5]), np.repeat([0, 1, 2], 3),
        ...                  samples=np.full(9, 4.0))
        >>> limits = GroupLimits.of(units)
        >>> limits.phi.round(6)[0], limits.worth.round(5)[0], limits.at(Z)[0].round(4).tolist()
        (np.float64(0.291667), np.float64(5.68421), [0.0426, 0.0057, 0.2861])
        """
        sizes = units.sizes.astype(np.float64)
        means = units.means
        squares = np.bincount(units.groups, weights=np.square(units.residuals()), minlength=units.n_groups)
        weight = np.maximum(sizes - 1, 0)
        own = np.divide(squares, weight, out=np.full(len(sizes), np.nan), where=weight > 0)
        freedom = units.freedom
        spread = float(squares.sum()) / freedom if freedom else float("nan")
        phi, worth = np.ones(len(sizes)), sizes.copy()
        if units.shares and freedom:
            phi = _phi(units, means, sizes, own, spread)
            # inside strata units scatter far less than coins of the common rate would, and deals are exact
            coins = COINS if units.strata is None else 0.0
            worth = sizes * (freedom + coins) / (freedom * phi + coins)
        return GroupLimits(means, sizes, phi, worth, spread, own, freedom, units.shares)

    def at(self, z: float | Floats) -> tuple[Floats, Floats]:
        """Lower and upper limits at this normal quantile: (groups,), or (many, groups) for many of them.

        Wilson's with as many outcomes as the units are worth and Student's quantile, or with one coin a unit where
        that is narrower; for numbers that are no shares, Student's with the pooled variance.
        """
        normal = np.asarray(z, dtype=np.float64)[..., None]
        student = np.maximum(stdtrit(float(max(self.freedom, 1)), ndtr(np.minimum(normal, 8.2))), normal)
        if not self.shares:
            half = student * np.sqrt(self.spread / self.sizes)
            return self.means - half, self.means + half
        low, high = wilson(self.means, self.worth, student)
        coin_low, coin_high = wilson(self.means, self.sizes, normal)
        wider = (high - low > coin_high - coin_low) | (self.freedom == 0)
        return np.where(wider, coin_low, low), np.where(wider, coin_high, high)

    def coins(self, z: float | Floats) -> tuple[Floats, Floats]:
        """Limits that hold however the groups' units scatter: one coin a unit; for numbers, each group's own t."""
        normal = np.asarray(z, dtype=np.float64)[..., None]
        if self.shares:
            return wilson(self.means, self.sizes, normal)
        known = np.where(self.sizes > 1, self.sizes - 1, np.nan)
        half = stdtrit(known, ndtr(np.minimum(normal, 8.2))) * np.sqrt(self.own / self.sizes)
        half = np.where(np.isnan(half), np.inf, half)
        return self.means - half, self.means + half


def _phi(units: Units, means: Floats, sizes: Floats, own: Floats, spread: float) -> Floats:
    weight = np.maximum(sizes - 1, 0)
    rate = np.clip(np.nan_to_num(means), 0, 1)
    coin = weight * (rate * (1 - rate) + np.nan_to_num(own) / np.maximum(sizes, 1))
    if coin.sum() <= 1e-12:
        return np.ones(len(sizes))
    phi = spread * weight.sum() / coin.sum()
    inverse = np.bincount(units.groups, weights=1 / units.samples, minlength=len(sizes)) / np.maximum(
        sizes, 1
    )
    typical = float((coin * inverse).sum() / coin.sum())
    least = 0.1 * typical  # where strata explain everything, what is left of the noise of single samples
    if typical > 1 - 1e-9:  # one sample a unit: a coin, unless strata explain a part of it
        return np.full(len(sizes), 1.0 if units.strata is None else min(max(phi, least), 1.0))
    correlation = min((phi - typical) / (1 - typical), 1.0)
    if units.strata is None:
        correlation = max(correlation, 0.0)
    return np.asarray(
        np.clip(correlation + (1 - correlation) * inverse, 0.0 if units.strata is None else least, 1.0)
    )


def wilson(rate: Floats, n: Floats, quantile: Floats) -> tuple[Floats, Floats]:
    """Wilson's limits for n outcomes, a real number, at a quantile; all arrays broadcast.

    >>> [float(limit[0].round(3)) for limit in wilson(np.full(1, 0.1), np.full(1, 100.0), np.full(1, 1.96))]
    [0.055, 0.174]
    """
    square = np.square(quantile)
    with np.errstate(divide="ignore", invalid="ignore"):
        centre = (rate + square / (2 * n)) / (1 + square / n)
        half = quantile / (1 + square / n) * np.sqrt(rate * (1 - rate) / n + square / (4 * np.square(n)))
    # at 0 and 1 the limit is exact; the subtraction leaves rounding there
    low = np.where(rate > 0, np.maximum(centre - half, 0.0), np.where(np.isnan(rate), np.nan, 0.0))
    high = np.where(rate < 1, np.minimum(centre + half, 1.0), np.where(np.isnan(rate), np.nan, 1.0))
    return low, high
