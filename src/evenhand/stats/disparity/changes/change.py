"""Test whether some groups of an axis changed differently from the others, by permuting scaled changes of prompts.

Groups whose responses vary more have larger random changes, so residuals are scaled before they are permuted.
"""

from dataclasses import dataclass
from functools import cached_property
from math import inf, lgamma, log, sqrt
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import fdtrc, stdtr, stdtrit

from evenhand.stats.arrays import Codes, Floats
from evenhand.stats.disparity.changes.changed_units import (
    OwnScatter,
    are_shares,
    canonical_order,
    change_scales,
    check_changes,
    means_of_groups,
    one_response,
    own_errors,
    reach_as_rates_grow,
    round_ties,
    smaller_rank,
    spread_of_means,
    unmoved_reach,
)
from evenhand.stats.disparity.changes.results import GroupChanges, unmeasurable_changes
from evenhand.stats.disparity.smallest import signal_found, smallest_change
from evenhand.stats.disparity.spread_limits import largest_spread, limits_of_spread

FIRST_DEALS, MOST_DEALS, ENOUGH, STRICT = 199, 9_999, 20, 0.02
"""First (LEAST_DEALS at levels up to STRICT) and largest number of permutations, and extreme ones that end the test."""
LEAST_DEALS, DEALT_AT_ONCE, MOST_DEALT = 999, 4_000_000, 40_000_000
"""Smallest number of permutations for long tables, and how many values are permuted at once and in total."""
LEAST_WITHIN = 0.05
"""Smallest variance within groups in a permutation, as a share of the total. For groups of two, it could be 0."""
SHARE_OF_LEVEL = 0.037 / 0.05
"""Level of each of two statistics if their smaller p is tested: 0.037 each gives a false-positive rate of 5%."""


def group_changes(
    before: npt.ArrayLike,
    after: npt.ArrayLike,
    groups: npt.ArrayLike,
    *,
    samples: npt.ArrayLike = 1,
    level: float = 0.05,
    seed: int = 0,
) -> GroupChanges:
    """Test whether any group of an axis changed differently from the other groups, between two models.

    Parameters
    ----------
    before, after : array_like, shape (units,)
        Mean outcome of each sampling unit (such as a prompt) with each model, without NaN.
    groups : array_like of int, shape (units,)
        Code of the group of each unit: 0, 1, ...
    samples : array_like, shape (units,), or int
        Number of responses behind each mean. It bounds the changes that may be undetected if no unit changed.
    level : float
        Significance level of the axis. Affects only the minimum detectable effects.
    seed : int
        Random seed of the permutations.

    Returns
    -------
    GroupChanges
        Changes of the groups, compared with the other groups.

    Raises
    ------
    UsageError
        Shapes differ.

    Notes
    -----
    Residuals of the changes are scaled by their expected spread and permuted across all groups. The p of the axis
    combines a sum of squares with the statistic of the most extreme group. It is at least that of F or t, because
    permutations of few prompts have short tails. The p of a group is the larger of its permutation p and that of
    Student's t. Checked in simulations.

    References
    ----------
    - Pitman 1937: permutation tests. Cameron & Miller 2015: differences of clusters.

    >>> rude = [0.25, 0.0, 0.5, 0.25, 0.0, 0.25, 0.5, 0.25]
    >>> found = group_changes(rude * 2, [1.0] * 8 + [0.0] * 8, [0] * 8 + [1] * 8)
    >>> found.estimate.round(3).tolist(), found.obstacle
    ([1.0, -1.0], None)
    """
    first, second, codes = check_changes(before, after, groups)
    count = int(codes.max(initial=-1)) + 1
    units = np.bincount(codes, minlength=count)
    usable = np.flatnonzero(units >= 2)
    mean = means_of_groups(second - first, codes, units)
    if len(usable) < 2:
        return unmeasurable_changes(
            units, mean, "Fewer than two groups have two prompts that both models answered."
        )
    kept = np.isin(codes, usable)
    order = canonical_order(first[kept], second[kept], codes[kept])
    step = one_response(
        first[kept], second[kept], np.broadcast_to(np.asarray(samples, np.float64), codes.shape)[kept]
    )
    part = _Axis.from_units(first[kept][order], second[kept][order], codes[kept][order], step)
    if (obstacle := part.obstacle(level)) is not None:
        return unmeasurable_changes(units, mean, obstacle)
    dealt = part.permute(level, seed)
    table = part.table(dealt, level)
    if part.own is not None:
        by_own = part.own.axis_p(part.mean, table["p"])
        dealt = dealt._replace(axis_p=max(dealt.axis_p, by_own))
    full = {name: np.full(count, np.nan) for name in ("estimate", "error", "p", "low", "high", "smallest")}
    for name, values in table.items():
        full[name][part.groups] = values
    spread, low, high = part.spread(dealt, table)
    return GroupChanges(
        units, mean, full["estimate"], full["error"], full["p"], full["low"], full["high"], full["smallest"],
        float(part.df), dealt.axis_p, spread, low, high, part.smallest_spread(level),
        spread_of_means(part.first, part.starts, part.units), spread_of_means(part.second, part.starts, part.units),
    )  # fmt: skip


class _Permutations(NamedTuple):
    """Results of permutations: absolute statistics ``z`` (permutations, groups), and the combined p of the axis."""

    z: Floats
    axis_p: float


@dataclass(frozen=True)
class _Axis:
    """Groups of one axis that can be compared, with units in an order that depends on their values only."""

    groups: Codes
    starts: Codes
    units: Floats
    first: Floats
    second: Floats
    mean: Floats
    scale: Floats
    residual: Floats
    variance: float
    """Variance of the scaled residuals (psi)."""
    constant: bool
    """True if the changes within each group are all equal. The expected spread then replaces the observed one."""
    step: float
    """Change of a unit's mean if one of its responses changes (`one_response`)."""

    @classmethod
    def from_units(cls, first: Floats, second: Floats, codes: Codes, step: float) -> "_Axis":
        groups, starts, sizes = np.unique(codes, return_index=True, return_counts=True)
        # np.unique sorts by code; the canonical order is that of first appearance
        order = np.argsort(starts)
        groups, starts, sizes = groups[order], starts[order], sizes[order]
        units = sizes.astype(np.float64)
        change = second - first
        mean = np.add.reduceat(change, starts) / units
        scale = change_scales(first, second, starts, units)
        safe = np.where(scale > 0, scale, 1.0)
        within = (change - np.repeat(mean, sizes)) / np.repeat(safe, sizes)
        residual = within * np.repeat(np.sqrt(units / (units - 1)), sizes)
        variance = float((residual**2).sum() / len(residual))
        constant = variance < 1e-18
        known = 1.0 if constant else variance
        return cls(groups, starts, units, first, second, mean, scale, residual, known, constant, step)

    @property
    def shares(self) -> bool:
        return are_shares(self.first, self.second)

    @property
    def furthest(self) -> float:
        """Return the largest possible difference between the changes of two shares; infinite for other numbers."""
        return 2.0 if self.shares else inf

    @property
    def change(self) -> Floats:
        return self.second - self.first

    @property
    def is_unchanged(self) -> bool:
        return not round_ties(self.change).any()

    @property
    def hidden_change(self) -> Floats:
        return np.minimum(unmoved_reach(self.units) * self.step, self.furthest)

    @property
    def df(self) -> float:
        return float((self.units - 1).sum())

    def obstacle(self, level: float) -> str | None:
        if not self.scale.any():
            return "All numbers of both models are the same."
        arrangements = lgamma(self.units.sum() + 1) - sum(lgamma(n + 1) for n in self.units)
        # permutations that only exchange whole groups of equal size give the same statistics
        alike = sum(lgamma(n + 1) for n in np.unique(self.units, return_counts=True)[1])
        if alike - arrangements > log(level):
            prompts = int(self.units.sum())
            return f"With {prompts} prompts, there are too few permutations for p to reach {level:.2g}."
        return None

    def contrast(self, values: Floats) -> Floats:
        """Return each group minus the mean of the others, along the last axis."""
        count = len(self.units)
        return np.asarray((values - values.mean(axis=-1, keepdims=True)) * count / (count - 1))

    @property
    def design(self) -> Floats:
        """Return the squared standard errors of the contrasts if scaled residuals have variance 1."""
        noise = self.scale**2 / self.units
        return np.asarray(noise + (noise.sum() - noise) / (len(noise) - 1) ** 2)

    def sum_of_squares(self, means: Floats) -> Floats:
        weight = self.units / np.where(self.scale > 0, self.scale, np.inf) ** 2
        if not weight.any():
            return np.zeros(means.shape[:-1])
        centre = (means * weight).sum(axis=-1, keepdims=True) / weight.sum()
        return np.asarray((weight * (means - centre) ** 2).sum(axis=-1))

    def permute(self, level: float, seed: int) -> _Permutations:
        error = np.sqrt(self.variance * self.design)
        largest = round_ties(np.max(np.abs(self.contrast(self.mean)) / error))
        squares = round_ties(self.sum_of_squares(self.mean) / self.variance)
        if self.constant:
            p = float(min(1.0, len(self.units) * 2 * stdtr(self.df, -float(largest))))
            return _Permutations(np.empty((0, len(self.units))), p)
        draws = np.random.default_rng(seed)
        z, q = np.empty((0, len(self.units))), np.empty(0)
        most = int(max(LEAST_DEALS, min(MOST_DEALS, MOST_DEALT // len(self.residual))))
        for until in (FIRST_DEALS if level > STRICT else LEAST_DEALS, most):
            parts = [self._deal(draws, deals) for deals in self._batches(until - len(q))]
            z = np.concatenate([z, *(part[0] for part in parts)])
            q = np.concatenate([q, *(part[1] for part in parts)])
            found = smaller_rank(squares, largest, q, z.max(axis=1))
            if found * (len(q) + 1) > ENOUGH:
                break
        return _Permutations(z, max(found, self._by_normal(float(squares), float(largest))))

    def _by_normal(self, squares: float, largest: float) -> float:
        """Return the smaller p of F and of t (times groups), because permutations of few prompts have short tails."""
        count = len(self.units)
        by_t = 2 * stdtr(self.df, -largest) * (count if count > 2 else 1)
        return float(min(fdtrc(count - 1, self.df, squares / (count - 1)), by_t, 1.0))

    def _batches(self, deals: int) -> list[int]:
        at_once = max(1, DEALT_AT_ONCE // len(self.residual))
        return [min(at_once, deals - done) for done in range(0, deals, at_once)]

    def _deal(self, draws: np.random.Generator, deals: int) -> tuple[Floats, Floats]:
        dealt = draws.permuted(np.broadcast_to(self.residual, (deals, len(self.residual))), axis=1)
        means = np.add.reduceat(dealt, self.starts, axis=1) / self.units
        whole = float((self.residual**2).sum())
        # permutations with almost no variance within groups would give arbitrarily large statistics
        within = np.maximum(whole - (self.units * means**2).sum(axis=1), LEAST_WITHIN * whole)
        variance = within / self.df
        scaled = means * self.scale
        z = np.abs(self.contrast(scaled)) / np.sqrt(variance[:, None] * self.design)
        return round_ties(z), round_ties(self.sum_of_squares(scaled) / variance)

    def table(self, dealt: _Permutations, level: float) -> dict[str, Floats]:
        estimate, error = self.contrast(self.mean), np.sqrt(self.variance * self.design)
        z = round_ties(np.abs(estimate) / error)
        p = 2 * stdtr(self.df, -z)
        needed = np.full(len(z), float(stdtrit(self.df, 0.975)))
        if len(dealt.z):
            by_deals, critical = self._shares(dealt.z, z)
            p, needed = np.maximum(p, by_deals), np.maximum(needed, critical)
        half = needed * error * (1 + 2e-9)  # if z equals the critical value, p is above .05
        smallest = self.smallest(dealt, level)
        if self.is_unchanged:
            half = smallest = self.hidden_change  # a larger change would probably have changed a prompt
            error = half / float(stdtrit(self.df, 0.975))
        elif self.own is not None:
            own_error, df = self.own.error, self.own.df
            p = np.maximum(p, 2 * stdtr(df, -(np.abs(estimate) / np.maximum(own_error, 1e-300))))
            half = np.maximum(half, stdtrit(df, 0.975) * own_error * (1 + 2e-9))
        return {
            "estimate": estimate,
            "error": error,
            "p": np.minimum(p, 1.0),
            "low": np.maximum(estimate - half, -self.furthest),
            "high": np.minimum(estimate + half, self.furthest),
            "smallest": smallest,
        }

    @cached_property
    def own(self) -> OwnScatter | None:
        """Return standard errors from the groups' own variances; None if these are not needed (see `own_errors`)."""
        usual = self.variance * self.scale**2
        return own_errors(self.change, self.starts, self.units, usual, shares=self.shares)

    @property
    def _classes(self) -> Codes:
        """Return codes of groups with similar numbers of units, whose permutation statistics are pooled."""
        sizes = np.where(self.units <= 8, self.units, 8 + np.round(6 * np.log2(self.units / 8)))
        return np.asarray(np.unique(sizes, return_inverse=True)[1])

    def _shares(self, dealt: Floats, z: Floats) -> tuple[Floats, Floats]:
        """Return the permutation p of each group, and the z above which it is at most .05, both (groups,)."""
        shares, critical = np.ones(len(z)), np.full(len(z), np.inf)
        for one in np.unique(self._classes):
            mine = self._classes == one
            pool = np.sort(dealt[:, mine], axis=None)
            at_least = len(pool) - np.searchsorted(pool, z[mine], side="left")
            shares[mine] = (1 + at_least) / (1 + len(pool))
            allowed = int(0.05 * (len(pool) + 1) + 1e-9) - 1
            critical[mine] = pool[len(pool) - 1 - allowed]
        return shares, critical

    def spread(self, dealt: _Permutations, table: dict[str, Floats]) -> tuple[float, float, float]:
        """Return the SD of the groups' true changes, with CI. The lower bound is 0 exactly if p > .05."""
        noise = self.variance * self.scale**2 / self.units if self.own is None else self.own.noise
        observed = float(self.mean.var(ddof=1))
        estimate = sqrt(max(observed - float(noise.mean()), 0.0))
        low, high = limits_of_spread(self.mean, noise, self.df)
        # the upper bound allows for one group alone, and shares cannot differ by more than the maximum
        high = max(high, float(np.max(table["high"] - table["low"])) / 2 / sqrt(len(self.units)), estimate)
        high = min(high, largest_spread(len(self.units), self.furthest))
        if dealt.axis_p > 0.05:
            return estimate, 0.0, high
        error = np.sqrt(self.variance * self.design)
        far = np.quantile(dealt.z.max(axis=1), 0.95) if len(dealt.z) else stdtrit(self.df, 0.975)
        reach = far * error
        if self.own is not None:
            reach = np.maximum(reach, stdtrit(self.own.df, 0.975) * self.own.error)
        # a single group that differs implies a minimum SD, because the mean lies between it and the others
        from_group = float(np.max(np.abs(self.contrast(self.mean)) - reach)) / sqrt(len(self.units))
        least = 1e-3 * sqrt(observed)
        return (
            max(estimate, least),
            min(max(low, from_group, least), max(estimate, least)),
            high,
        )

    def smallest(self, dealt: _Permutations, level: float) -> Floats:
        """Return the minimum detectable changes: critical z times the standard error, which depends on the change."""
        count = len(self.units)
        single = level if count == 2 else level * SHARE_OF_LEVEL / count
        by_t = float(-stdtrit(self.df, min(single, 0.05) / 2))
        needed = np.full(count, by_t)
        if len(dealt.z):
            for one in np.unique(self._classes):
                mine = self._classes == one
                pool = dealt.z[:, mine].ravel()
                attained = max(single, 20 / len(pool)) if len(pool) > 20 else 0.05
                # beyond the resolution of the permutations, extrapolate with t
                ratio = np.quantile(pool, 1 - attained) / -stdtrit(self.df, attained / 2)
                needed[mine] = by_t * max(1.0, float(ratio))
        others = (self.design - self.scale**2 / self.units) * self.variance
        first = np.add.reduceat(self.first, self.starts) / self.units
        mean = np.clip(first + self.mean.mean(), 0, 1)
        found = np.array([
            smallest_change(needed[g], (self.variance, self.unpaired_variance), others[g], self.units[g], self.scale[g],
                  (first[g], mean[g]) if self.shares else None)
            for g in range(count)
        ])  # fmt: skip
        if self.own is None:
            return found
        halved = level / (2 if count == 2 else 2 * count)  # `OwnScatter.axis_p` is twice the smaller p
        reach = np.array([sqrt(signal_found(1.0, df, min(single, halved))) for df in self.own.df])
        numbers = np.concatenate([self.first, self.second])
        ends = (0.0, 1.0) if self.shares else (float(numbers.min()), float(numbers.max()))
        found = np.maximum(found, reach_as_rates_grow(reach, self.own, first, ends))
        # a share can change by at most the larger of mean and 1 - mean
        return np.asarray(np.where(self.shares & (found > np.maximum(mean, 1 - mean)), inf, found))

    @property
    def unpaired_variance(self) -> float:
        """Return the variance of scaled residuals if both models' responses to a prompt were independent."""
        sizes = self.units.astype(int)
        scale = np.repeat(
            np.where(self.scale > 0, self.scale, 1.0) / np.sqrt(self.units / (self.units - 1)), sizes
        )
        sides = (
            (values - np.repeat(np.add.reduceat(values, self.starts) / self.units, sizes)) / scale
            for values in (self.first, self.second)
        )
        return max(self.variance, float(sum((side**2).mean() for side in sides)))

    def smallest_spread(self, level: float) -> float:
        """Return the SD between groups that the axis test detects with 80% power, if half of the groups are higher."""
        count = len(self.units)
        if self.is_unchanged:  # the SD if a single group had changed as much as unchanged prompts can hide
            return float(self.hidden_change.max()) / sqrt(count)
        single = level if count == 2 else level * SHARE_OF_LEVEL
        signal = signal_found(count - 1.0, self.df, single)
        weight = self.units / (self.variance * np.where(self.scale > 0, self.scale, np.inf) ** 2)
        sides = np.where(np.arange(count)[np.argsort(np.argsort(weight))] % 2 == 0, 1.0, -1.0)
        centre = (weight * sides).sum() / weight.sum()
        shift = sqrt(signal / float((weight * (sides - centre) ** 2).sum()))
        smallest = float(shift * sides.std(ddof=1))
        if self.own is not None:
            smallest = max(smallest, self.own.smallest_spread(single))
        return smallest if smallest <= largest_spread(count, self.furthest) else float("nan")
