"""Confidence intervals of the rate (or mean) of each group, for units that average several responses."""

from dataclasses import dataclass

import numpy as np
from scipy.special import fdtri, ndtr, stdtrit

from evenhand.stats.arrays import Floats
from evenhand.stats.disparity.supports import Supports
from evenhand.stats.disparity.units import Units

COINS = 3.0
"""Weight, in prompts, of the worst case (one Bernoulli trial per unit) in the estimated clustering."""
OWN = 5.0
"""Weight, in units, of the common variance in the variance of a group's numbers."""
_UNEQUAL, _MUCH, _FEW, KNOWN = 2.0, 5.0, 10, 20
_FARTHEST = 25.0
"""Normal quantile up to which Student's quantile is computed; beyond it, both grow proportionally."""


@dataclass(frozen=True)
class GroupLimits:
    """Means of groups with what is needed to compute their confidence intervals. Arrays have the shape (groups,).

    A unit is what was sampled, such as a prompt with several responses.

    Attributes
    ----------
    phi : numpy.ndarray
        Estimated variance of a unit divided by that of one Bernoulli trial.
    worth : numpy.ndarray
        Effective number of Bernoulli trials of each group's units.
    spread, own : float and numpy.ndarray
        Variance of units within groups, pooled and for each group (NaN for one unit).
    supports : Supports or None
        Likelihood-based intervals for prompts with several responses, without strata. They replace the cautious ones.
    cautious : bool
        True if the variance within a group cannot be inferred from the other groups. This is so if groups have few and
        very unequal numbers of units, or numbers with very unequal variances.
    """

    means: Floats
    sizes: Floats
    phi: Floats
    worth: Floats
    spread: float | Floats
    own: Floats
    freedom: int
    shares: bool
    cautious: bool = False
    supports: Supports | None = None

    @staticmethod
    def estimate(units: Units) -> "GroupLimits":
        """Estimate the variance of units from all groups together.

        phi is the pooled variance of units divided by that of Bernoulli trials. It is kept between the value of
        independent responses and 1, and shrunken towards 1 with the weight of three units. If units have unequal
        numbers of responses, each group gets the phi that its numbers and the common correlation of responses imply.

        >>> units = Units.from_arrays(np.array([.25, .5, 0, 0, .25, 0, 1, .75, .5]), np.repeat([0, 1, 2], 3),
        ...                  samples=np.full(9, 4.0))
        >>> limits = GroupLimits.estimate(units)
        >>> limits.phi.round(6)[0], limits.worth.round(5)[0], limits.pooled_bounds(1.959964)[0].round(4).tolist()
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
            # within strata, units vary far less than Bernoulli trials, and permutations are exact
            coins = COINS if units.strata is None else 0.0
            worth = sizes * (freedom + coins) / (freedom * phi + coins)
        several = not units.shares or bool(np.any(units.samples > 1) or np.any(units.values % 1))
        supports = None
        if units.shares and several and units.strata is None and units.n_groups > 1 and sizes.min() > 0:
            supports = Supports.estimate(units)
        cautious = (supports is None and too_unequal(sizes, several)) or (
            not units.shares and _scatters_by_itself(sizes, own, spread)
        )
        return GroupLimits(means, sizes, phi, worth, spread, own, freedom, units.shares, cautious, supports)

    def bounds_at(self, z: float | Floats) -> tuple[Floats, Floats]:
        """Return the lower and upper bounds at a normal quantile, each (groups,), or (many, groups) for many quantiles.

        Rates have Wilson's interval, with the effective number of trials and Student's quantile, or with one trial per
        unit if that is narrower. Numbers have Student's t with the group's variance, shrunken towards the pooled one.
        Cautious limits are those of `robust_bounds`.
        """
        if self.supports is None:
            return self.pooled_bounds(z)
        weight = self.supports.caution
        return tuple(  # type: ignore[return-value]
            (1 - weight) * ours + weight * guarded
            for ours, guarded in zip(self.pooled_bounds(z), self.supports.bounds_at(z), strict=True)
        )

    def pooled_bounds(self, z: float | Floats) -> tuple[Floats, Floats]:
        """Return the bounds under the assumption of equal variances in all groups, unless limits are cautious. Shapes
        as in `bounds_at`.
        """
        if self.cautious:
            return self.robust_bounds(z)
        normal = np.asarray(z, dtype=np.float64)[..., None]
        if not self.shares:
            weight = np.maximum(self.sizes - 1, 0)
            variance = (weight * np.nan_to_num(self.own) + OWN * self.spread) / (weight + OWN)
            freedom = np.minimum(weight + OWN, max(self.freedom, 1))
            half = students(freedom, normal) * np.sqrt(variance / self.sizes)
            return self.means - half, self.means + half
        student = np.maximum(students(float(max(self.freedom, 1)), normal), normal)
        low, high = wilson(self.means, self.worth, student)
        coin_low, coin_high = wilson(self.means, self.sizes, normal)
        wider = (high - low > coin_high - coin_low) | (self.freedom == 0)
        return np.where(wider, coin_low, low), np.where(wider, coin_high, high)

    def robust_bounds(self, z: float | Floats) -> tuple[Floats, Floats]:
        """Return bounds that are valid for any variances within groups: each unit counts as one Bernoulli trial.

        If all groups have 20 units or more, each group's own variance is used, shrunken with the weight of three
        trials. For numbers, it is each group's own t interval.
        """
        normal = np.asarray(z, dtype=np.float64)[..., None]
        if self.shares:
            phi = own_clustering(self.means, self.sizes, np.nan_to_num(self.own))
            student = students(np.maximum(self.sizes - 1, 1), normal)
            quantile = np.where(phi < 1, np.maximum(student, normal), normal)
            low, high = wilson(self.means, self.sizes / phi, quantile)
            coin_low, coin_high = wilson(self.means, self.sizes, normal)
            narrower = high - low < coin_high - coin_low
            return np.where(narrower, low, coin_low), np.where(narrower, high, coin_high)
        known = np.where(self.sizes > 1, self.sizes - 1, np.nan)
        half = students(known, normal) * np.sqrt(self.own / self.sizes)
        # the variance of a single unit is unknown: use that of the group with the largest variance
        widest = np.sqrt(np.nanmax(np.append(self.own, self.spread))) * normal / np.sqrt(self.sizes)
        half = np.where(np.isnan(half), widest, half)
        return self.means - half, self.means + half


def students(freedom: float | Floats, normal: Floats) -> Floats:
    """Return Student's quantile at the level of a normal quantile, computed from the upper tail for precision.

    >>> students(10, np.array([1.96, 9.0])).round(2).tolist()
    [2.23, 201.24]
    """
    near = np.minimum(normal, _FARTHEST)
    return np.asarray(-stdtrit(freedom, ndtr(-near)) * np.maximum(normal / _FARTHEST, 1.0))


def too_unequal(sizes: Floats, several: bool) -> bool:
    """Return True if a group has so few units, compared with another, that pooled variances hide its own.

    No test would detect a different variance in such a small group.

    Parameters
    ----------
    several : bool
        True if units average several responses, or are numbers. The variance of single outcomes follows from the rate.

    Examples
    --------
    >>> too_unequal(np.array([4.0, 60.0]), True), too_unequal(np.array([40.0, 60.0]), True)
    (True, False)
    """
    able = sizes[sizes > 1]
    if not several or not able.size:
        return False
    ratio = float(sizes.max() / able.min())
    return ratio >= _UNEQUAL and bool(able.min() < _FEW * min(ratio, _MUCH))


def _scatters_by_itself(sizes: Floats, own: Floats, spread: float) -> bool:
    """Return True if some group has few units and a group's variance exceeds the common one (test at 10%)."""
    weight = np.maximum(sizes - 1, 1)
    larger = own > spread * fdtri(weight, weight.sum(), 0.9)
    return bool(sizes.min() < KNOWN and larger[sizes > 1].any())


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
    return learnt_clustering(np.full(len(sizes), phi), typical, units.strata is not None, inverse)


def common_clustering(units: Units, phi: float) -> float:
    """Return the variance of the rates of prompts that all groups share, divided by that of one Bernoulli trial.

    It is 0 if it is negligible, or without strata. `phi` is the same ratio for the variance within prompts.

    >>> values = np.array([0.2, 0.5, 0.8, 0.3, 0.5, 0.7])
    >>> units = Units.from_arrays(values, np.repeat([0, 1], 3), strata=np.tile([0, 1, 2], 2), samples=np.full(6, 10.0))
    >>> round(common_clustering(units, 0.1), 2)
    0.14
    """
    if units.strata is None or not units.shares:
        return 0.0
    means, sizes = units.group_means(units.values), units.sizes
    whole = float(np.square(units.values - means[units.groups]).sum()) / max(int((sizes - 1).sum()), 1)
    rate = np.nan_to_num(means)
    coin = float(np.average(rate * (1 - rate) + whole / np.maximum(sizes, 1), weights=sizes))
    common = min(whole / coin - phi, 0.95 - phi) if coin > 1e-12 else 0.0
    return round(common, 2) if common >= 0.02 else 0.0


def own_clustering(rate: Floats, sizes: Floats, variance: Floats) -> Floats:
    """Return the variance of a unit divided by that of a Bernoulli trial, for each group alone.

    It is 1 if any group has few units, or if the group has few events.
    """
    coin = rate * (1 - rate) + variance / np.maximum(sizes, 1)
    own = np.divide(variance, coin, out=np.ones_like(rate), where=coin > 1e-12)
    known = (sizes.min() >= KNOWN) & (sizes * rate * (1 - rate) >= COINS)
    weight = np.maximum(sizes - 1, 0)
    return np.where(known, np.clip((weight * own + COINS) / (weight + COINS), 0.0, 1.0), 1.0)


def learnt_clustering(phi: Floats, typical: float, strata: bool, inverse: Floats | None = None) -> Floats:
    """Return a plausible ratio of a unit's variance to that of a Bernoulli trial, from the observed ratio `phi`.

    Parameters
    ----------
    typical : float
        Ratio for independent responses, 1 / responses.
    strata : bool
        True if variances are within strata, where they may be smaller than for independent responses (down to a tenth).
    inverse : numpy.ndarray, shape (groups,), optional
        Mean of 1 / responses of each group, if these differ.

    >>> learnt_clustering(np.array([0.1, 0.5, 2.0]), 0.25, False).tolist()
    [0.25, 0.5, 1.0]
    """
    if typical > 1 - 1e-9:
        return np.clip(phi, 0.1, 1.0) if strata else np.ones_like(phi)
    correlation = np.minimum((phi - typical) / (1 - typical), 1.0)
    if not strata:
        correlation = np.maximum(correlation, 0.0)
    each = typical if inverse is None else inverse
    return np.clip(correlation + (1 - correlation) * each, 0.1 * typical if strata else 0.0, 1.0)


def wilson(rate: Floats, n: Floats, quantile: Floats) -> tuple[Floats, Floats]:
    """Return Wilson's interval for n outcomes (n need not be an integer) at a normal quantile; arrays broadcast.

    >>> [float(limit[0].round(3)) for limit in wilson(np.full(1, 0.1), np.full(1, 100.0), np.full(1, 1.96))]
    [0.055, 0.174]
    """
    square = np.square(quantile)
    with np.errstate(divide="ignore", invalid="ignore"):
        centre = (rate + square / (2 * n)) / (1 + square / n)
        half = quantile / (1 + square / n) * np.sqrt(rate * (1 - rate) / n + square / (4 * np.square(n)))
    # at 0 and 1 the bound is exact, without the rounding error of the subtraction
    low = np.where(rate > 0, np.maximum(centre - half, 0.0), np.where(np.isnan(rate), np.nan, 0.0))
    high = np.where(rate < 1, np.minimum(centre + half, 1.0), np.where(np.isnan(rate), np.nan, 1.0))
    return low, high
