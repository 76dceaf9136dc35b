"""The deal test of large tables in closed form: normal through t, with the skewness that rare events have."""

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
    """What `deals.Deals` says of the observed statistics, without deals.

    z, difference, skewness: (contrasts,). spread: between groups over variance within. squares: how it lies over deals.
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
        """Two-sided p of each contrast."""
        return two_tails(self.z, self.skewness, self.squares.freedom[1])

    @property
    def normal(self) -> Floats:
        """Normal quantile of half of p (contrasts,)."""
        return np.asarray(-ndtri(self.p / 2))

    @property
    def spread_p(self) -> float:
        """p of the sum of squares between groups."""
        return self.squares.p(self.spread)

    @property
    def largest_p(self) -> float:
        """p of the largest |z| of any contrast, as if contrasts were independent."""
        return float(-np.expm1(len(self.z) * np.log1p(-min(float(self.p.min()), 1 - 1e-12))))

    @property
    def axis_p(self) -> float:
        """p of "no group differs": the smaller of both, as extreme as it would be by chance."""
        return float(min(1.0, min(self.spread_p, self.largest_p) * 0.05 / self._common))

    @cached_property
    def _common(self) -> float:
        """The 5 % quantile of the smaller p where means are normal and no group differs."""
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
        """The p that either statistic must not exceed for the smaller of both to reach `level`."""
        return self._common * level / 0.05

    def quantile(self, share: float) -> Floats:
        """The |z| that each contrast stays below with this chance (contrasts,)."""
        return critical_value(1 - share, self.skewness, self.squares.freedom[1])

    def largest_quantile(self, share: float = 0.95) -> float:
        """The largest |z| of any contrast stays below this with at least this chance."""
        return float(self.quantile(1 - (1 - share) / len(self.z)).max())


def approximate(units: Units, contrasts: Floats | None = None, *, seed: int = 0) -> Approximation:
    """Closed form of `deals.deal` for many units, at least about five a group.

    units: every group with at least one. The p of contrasts have the size of deals down to five units a group; of
    values other than shares take deals. Whether groups scatter alike is still seen by deals, where units average
    several samples. Source: moments of the sum of independent deviations for contrasts, exact ones over all deals for
    the sum of squares; Pearson type III for the tails of both.

    >>> x = np.random.default_rng(1).binomial(1, 0.1, size=2000).astype(float)
    >>> test = approximate(Units.of(x, np.repeat(np.arange(10), 200)))
    >>> bool(0 < test.axis_p <= 1)
    True
    """
    sizes = units.sizes.astype(np.float64)
    rows = leave_one_out(units.n_groups) if contrasts is None else contrasts
    form = closed_form(units, rows)
    means, within = units.group_means(units.centred), form.within
    weight = sizes / sizes.sum()
    between = float((np.square(means - means @ weight) * sizes).sum())
    several = bool(np.any(units.samples > 1)) or not units.shares
    variance_p = deal(units, variances=True, most=199, seed=seed).variance_p if several else 1.0
    spread = between / within if within > 0 else float(np.where(between < 1e-12, 0.0, np.inf))
    return Approximation(
        form.z, form.difference, form.skewness, spread, SquaresTail.of(units), sizes, variance_p
    )
