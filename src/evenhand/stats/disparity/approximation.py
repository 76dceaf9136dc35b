"""Closed-form approximation of the permutation test for many units: Student's t, with the skewness of rare events."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtri

from evenhand.stats.arrays import Floats
from evenhand.stats.disparity.deals import deal, leave_one_out
from evenhand.stats.disparity.tails import SquaresTail, closed_form, critical_value, two_tails
from evenhand.stats.disparity.units import Units

_DRAWS, _NUMBERS = 1_999, 200_000


@dataclass(frozen=True)
class Approximation:
    """Closed-form approximation of the permutation distribution in `Deals`, for many units.

    ``z``, ``difference`` and ``skewness`` describe the contrasts (contrasts,). ``spread`` is the sum of squares between
    groups divided by the variance within groups. ``squares`` is its distribution under permutation.
    """

    z: Floats
    difference: Floats
    skewness: Floats
    spread: float
    squares: SquaresTail
    sizes: Floats
    variance_p: float
    count: int = 0
    exact: bool = False

    @property
    def p(self) -> Floats:
        """Return the two-sided p-value of each contrast (contrasts,)."""
        return two_tails(self.z, self.skewness, self.squares.freedom[1])

    @property
    def normal(self) -> Floats:
        """Return the normal quantile that corresponds to half of p (contrasts,)."""
        return np.asarray(-ndtri(self.p / 2))

    @property
    def spread_p(self) -> float:
        """Return the p-value of the sum of squares between groups."""
        return self.squares.p(self.spread)

    @property
    def largest_p(self) -> float:
        """Return the p-value of the largest absolute z of all contrasts, as if they were independent."""
        return float(-np.expm1(len(self.z) * np.log1p(-min(float(self.p.min()), 1 - 1e-12))))

    @property
    def axis_p(self) -> float:
        """Return the p-value of "no group differs".

        It is the smaller p of the sum of squares and of the largest z, corrected for taking the smaller one.
        """
        return float(min(1.0, min(self.spread_p, self.largest_p) * 0.05 / self._common))

    @cached_property
    def _common(self) -> float:
        """Return the 5% quantile of the smaller p if means are normal and no group differs."""
        groups = len(self.sizes)
        draws = int(np.clip(_NUMBERS // groups, 199, _DRAWS))
        means = np.random.default_rng(0).normal(size=(draws, groups)) / np.sqrt(self.sizes)
        weight = self.sizes / self.sizes.sum()
        spread = (np.square(means - (means @ weight)[:, None]) * self.sizes).sum(axis=1)
        inverse = 1 / self.sizes
        error = inverse + (inverse.sum() - inverse) / (groups - 1) ** 2
        shift = (means - means.mean(axis=1, keepdims=True)) * (groups / (groups - 1)) / np.sqrt(error)
        ranks = [(-values).argsort().argsort() + 1 for values in (spread, np.abs(shift).max(axis=1))]
        return float(np.quantile(np.minimum(*ranks) / draws, 0.05))

    def common_level(self, level: float = 0.05) -> float:
        """Return the p that the sum of squares or the largest z must reach, so that the test of both has this
        `level`.
        """
        return self._common * level / 0.05

    def quantile(self, share: float) -> Floats:
        """Return the quantile of the absolute z of each contrast (contrasts,)."""
        return critical_value(1 - share, self.skewness, self.squares.freedom[1])

    def largest_quantile(self, share: float = 0.95) -> float:
        """Return an upper bound on the quantile of the largest absolute z of all contrasts."""
        return float(self.quantile(1 - (1 - share) / len(self.z)).max())


def approximate(units: Units, contrasts: Floats | None = None, *, seed: int = 0) -> Approximation:
    """Approximate `deal`, the permutation test of group means, in closed form.

    Use it for many units, at least about five per group, and for shares (0 to 1). For other values, use `deal`.

    Parameters
    ----------
    units : Units
        Units of all groups, at least one per group.
    contrasts : numpy.ndarray, shape (contrasts, groups), optional
        Rows that sum to 0. Default: each group minus the mean of the others.
    seed : int
        Random seed.

    Returns
    -------
    Approximation
        p-values and quantiles.

    Notes
    -----
    Contrasts use the moments of sums of independent deviations. The sum of squares uses its exact moments under
    permutation. Tails are of Pearson's type III.

    >>> x = np.random.default_rng(1).binomial(1, 0.1, size=2000).astype(float)
    >>> test = approximate(Units.from_arrays(x, np.repeat(np.arange(10), 200)))
    >>> bool(0 < test.axis_p <= 1)
    True
    """
    sizes = units.sizes.astype(np.float64)
    rows = leave_one_out(units.n_groups) if contrasts is None else contrasts
    form = closed_form(units, rows)
    means, within = units.group_means(units.stratum_deviations), form.within
    weight = sizes / sizes.sum()
    between = float((np.square(means - means @ weight) * sizes).sum())
    several = bool(np.any(units.samples > 1)) or not units.shares
    variance_p = deal(units, variances=True, most=199, seed=seed).variance_p if several else 1.0
    spread = between / within if within > 0 else float(np.where(between < 1e-12, 0.0, np.inf))
    return Approximation(
        form.z, form.difference, form.skewness, spread, SquaresTail.from_units(units), sizes, variance_p
    )
