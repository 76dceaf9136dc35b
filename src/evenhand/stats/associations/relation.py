"""A partial rank correlation of things in clusters, with the test, interval and smallest correlation that hold.

Things of one cluster (descriptors of a bucket) are alike in both numbers, so that dealing one of the numbers anew among
things is false far too often: 34 % where half of each variance lies between clusters. Here whole clusters are left out
one after the other and everything is ranked again; simulations stand in tests/stats/associations/.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr, stdtrit

from evenhand.schema import UsageError
from evenhand.stats.arrays import Codes, Floats
from evenhand.stats.associations.partial import (
    centred_means,
    correlation,
    partial_residuals,
    ranks_within,
)
from evenhand.stats.clusters import smallest_flip_p
from evenhand.stats.power import POWER, noncentrality

LARGEST_Z = math.atanh(0.9999)
"""Correlations of 1 have no place on Fisher's scale."""
LARGEST_MISSED = 0.9
"""Where only a larger correlation than this would probably be found, nothing is measured."""
DRAWS = 1999


@dataclass(frozen=True)
class RankRelation:
    """One correlation and what it rests on; NaN and an `obstacle` where nothing could be found whatever the data."""

    estimate: float
    """Partial rank correlation within strata, -1 to 1."""
    low: float
    high: float
    """95 % limits; they leave out 0 exactly where p is at most 0.05."""
    p: float
    """Two-sided, of "unrelated within strata at equal controls"."""
    chance: float
    """95 % of the sizes that the estimate has where each cluster's share may as well point the other way."""
    minimum_detectable: float
    """Size of a correlation that would be found at `level` in 80 % of samples like this."""
    rows: int
    clusters: int
    effective: float
    """Equally large clusters that these are worth."""
    obstacle: str | None = None


@dataclass(frozen=True)
class _Data:
    ranks: Floats  # (n, 2 + c): first, second, controls
    values: Floats
    strata: Codes
    clusters: Codes


def rank_relation(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    *,
    strata: npt.ArrayLike,
    clusters: npt.ArrayLike,
    controls: npt.ArrayLike | None = None,
    level: float = 0.05,
    tests: int = 1,
    seed: int = 0,
) -> RankRelation:
    """Do two numbers of the same things rise together, within strata and where the controls are equal?

    Arguments: `first` (n,), such as how often a descriptor is written; `second`, (n,), or (n, t) where each thing was
    seen in t samples of something (templates, wordings; NaN where it was not): the verdict then speaks of samples like
    these. `strata` (n,), labels between which nothing is compared (axes). `clusters` (n,), labels of what is alike
    (buckets; a cluster lies in one stratum). `controls` (n, c), held equal by their ranks. `level` of what is
    measurable and, shared by `tests`, of the smallest correlation. `seed` of `chance`. Rows with NaN in first, second
    or a control are left out, and those that are alone in their stratum.

    All numbers become ranks within their stratum; the controls' are taken out of both by least squares; the rest are
    correlated. The error, brought to Fisher's scale, is that of the jackknife over clusters (their stratum is ranked
    again), never below that of as many independent things; with templates, what their own slopes vary by beyond the
    noise of single cells is added. t has one degree of freedom less than the effective number of clusters:
    (sum of h)² / sum of h², h what is left of the first number's ranks in each, squared and summed. Not measurable are
    fewer clusters than signs can tell at `level` (six at 0.05), numbers that do not vary, and samples that find
    correlations above 0.9 alone.
    Raises UsageError for shapes that differ.
    Source: Kendall 1942 (partial rank correlation); Efron & Stein 1981 and Cameron, Gelbach & Miller 2008 (clusters
    left out); Carter, Schnepel & Steigerwald 2017 (effective number of clusters); Bonett & Wright 2000 (Fisher's
    scale for ranks).

    >>> often = np.arange(24.0)
    >>> kind = often + 5 * np.sin(often)
    >>> found = rank_relation(often, kind, strata=often >= 12, clusters=often // 2)
    >>> found.clusters, found.p < 0.05, found.low > 0
    (12, True, True)
    """
    data, outcome = _data(first, second, strata, clusters, controls)
    return _related(data, outcome, (level, level / tests), seed)


def _related(data: _Data, outcome: Floats, levels: tuple[float, float], seed: int) -> RankRelation:
    rows, groups = len(data.values), int(data.clusters.max()) + 1 if len(data.values) else 0
    residuals = partial_residuals(data.ranks) if rows else np.zeros((0, 2))
    estimate = correlation(residuals) if rows > 2 else float("nan")
    held = np.bincount(data.clusters, np.square(residuals[:, 0]), minlength=groups)
    effective = float(held.sum() ** 2 / np.square(held).sum()) if held.any() else 0.0
    obstacle = _obstacle(estimate, data, groups, levels[0])
    if obstacle is not None:
        empty = float("nan")
        return RankRelation(estimate, empty, empty, empty, empty, empty, rows, groups, effective, obstacle)
    z = _on_fishers_scale(estimate)
    error, freedom = _error(data, outcome, z, residuals, effective)
    half = float(stdtrit(freedom, 0.975)) * error
    smallest = math.tanh(float(noncentrality(np.array([freedom]), levels[1], POWER)[0]) * error)
    return RankRelation(
        estimate=estimate,
        low=math.tanh(z - half),
        high=math.tanh(z + half),
        p=float(2 * stdtr(freedom, -abs(z) / error)),
        chance=_chance(residuals, data.clusters, seed),
        minimum_detectable=smallest,
        rows=rows,
        clusters=groups,
        effective=effective,
        obstacle=_too_coarse(smallest),
    )


def _obstacle(estimate: float, data: _Data, groups: int, level: float) -> str | None:
    if math.isnan(estimate):
        if len(data.values) <= 2:
            return "Fewer than three things have both numbers."
        return "One of the numbers does not vary within the strata where the controls are equal."
    if smallest_flip_p(groups) > level:
        needed = next(k for k in range(2, 64) if smallest_flip_p(k) <= level)
        return (
            f"It rests on {groups} cluster{'' if groups == 1 else 's'} of things that are alike; "
            f"{needed} are needed at the level of {level:.2g}."
        )
    if len(data.values) < data.ranks.shape[1] + 4:
        return f"{len(data.values)} things are too few for {data.ranks.shape[1] - 2} controls."
    return None


def _too_coarse(smallest: float) -> str | None:
    if smallest <= LARGEST_MISSED:
        return None
    return f"Even a correlation of {LARGEST_MISSED:g} would be missed in more than one of five samples like this."


def _error(
    data: _Data, outcome: Floats, z: float, residuals: Floats, effective: float
) -> tuple[float, float]:
    """Standard error on Fisher's scale, and degrees of freedom."""
    groups = int(data.clusters.max()) + 1
    estimate = math.tanh(z)
    stretched = 1 / (1 - estimate**2) ** 2  # what a small variance of r is on Fisher's scale
    between = stretched * _jackknifed([_without(data, group, estimate) for group in range(groups)])
    spare = len(data.values) - (data.ranks.shape[1] - 2) - len(np.unique(data.strata)) - 2
    independent = (1 + estimate**2 / 2) / max(1, spare)
    variance = max(between, independent)
    freedom = max(1.0, effective - 1)
    sampled = stretched * _template_variance(data, outcome, estimate, residuals)
    if sampled > 0:
        whole = variance + sampled
        freedom = whole**2 / (variance**2 / freedom + sampled**2 / (outcome.shape[1] - 1))
        variance = whole
    return math.sqrt(variance), freedom


def _without(data: _Data, group: int, otherwise: float) -> float:
    """The correlation where one cluster is left out and its stratum ranked again."""
    kept = data.clusters != group
    ranks, strata = data.ranks[kept], data.strata[kept]
    again = strata == data.strata[~kept][0]
    if again.any():
        ranks[again] = ranks_within(data.values[kept][again], strata[again])
    found = correlation(partial_residuals(ranks))
    return otherwise if math.isnan(found) else found


def _jackknifed(without: Sequence[float]) -> float:
    """Variance of an estimate from what it is without each part."""
    found = np.array(without)
    return (len(found) - 1) / len(found) * float(np.square(found - found.mean()).sum())


def _template_variance(data: _Data, outcome: Floats, estimate: float, residuals: Floats) -> float:
    """What templates add: the jackknife over them, less what noise of single cells would have made of it."""
    width = outcome.shape[1]
    if width < 2:
        return 0.0
    changed = []
    for column in range(width):
        values = centred_means(np.delete(outcome, column, axis=1), data.strata)
        if np.isnan(values).any():  # some were seen in this column alone: it cannot be left out
            continue
        ranks = data.ranks.copy()
        ranks[:, 1] = ranks_within(values, data.strata)
        found = correlation(partial_residuals(ranks))
        changed.append(estimate if math.isnan(found) else found)
    if len(changed) < 2:
        return 0.0
    return _jackknifed(changed) * _own_slopes(data, outcome, residuals[:, 0])


def _own_slopes(data: _Data, outcome: Floats, weights: Floats) -> float:
    """Share of the variance of slopes over templates that is not that of single cells, 0 to 1."""
    left = np.empty_like(outcome)
    for stratum in np.unique(data.strata):
        mine = data.strata == stratum
        left[mine] = outcome[mine] - np.nanmean(outcome[mine], axis=0)
    weighted = np.where(np.isnan(left), 0.0, left) * weights[:, None]
    groups = int(data.clusters.max()) + 1
    cells = np.zeros((groups, outcome.shape[1]))
    np.add.at(cells, data.clusters, weighted)
    slopes = cells.sum(axis=0)
    of_slopes = float(np.square(slopes - slopes.mean()).sum())
    of_cells = float(np.square(cells - cells.mean(axis=1, keepdims=True)).sum())
    return max(0.0, 1 - of_cells / of_slopes) if of_slopes > 0 else 0.0


def _chance(residuals: Floats, clusters: Codes, seed: int) -> float:
    first, second = residuals.T
    slope = float(first @ second) / float(first @ first)
    scores = np.bincount(clusters, first * (second - slope * first))
    signs = 1.0 - 2.0 * np.random.default_rng(seed).integers(0, 2, size=(DRAWS, len(scores)))
    sizes = np.abs(signs @ scores) / math.sqrt(float(first @ first) * float(second @ second))
    return min(1.0, float(np.quantile(sizes, 0.95)))


def _on_fishers_scale(r: float) -> float:
    return min(LARGEST_Z, max(-LARGEST_Z, math.atanh(min(0.99999, max(-0.99999, r)))))


def _data(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    strata: npt.ArrayLike,
    clusters: npt.ArrayLike,
    controls: npt.ArrayLike | None,
) -> tuple[_Data, Floats]:
    one, outcome = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    outcome = outcome[:, None] if outcome.ndim == 1 else outcome
    held = np.zeros((len(one), 0)) if controls is None else np.asarray(controls, dtype=np.float64)
    labels = [np.asarray(strata), np.asarray(clusters)]
    shapes = [one.shape, outcome.shape[:1], held.shape[:1], *(label.shape for label in labels)]
    if one.ndim != 1 or outcome.ndim != 2 or held.ndim != 2 or len(set(shapes)) > 1:
        raise UsageError(
            f"rank_relation was given rows of shapes {', '.join(map(str, shapes))}.",
            "Give one number, outcome, stratum, cluster and row of controls for each thing.",
        )
    seen = ~np.isnan(outcome).all(axis=1) & np.isfinite(one) & np.isfinite(held).all(axis=1)
    axes, groups = (np.unique(label[seen], return_inverse=True)[1] for label in labels)
    groups = np.unique(np.stack([axes, groups]), axis=1, return_inverse=True)[1].reshape(-1)
    outcome = outcome[seen]
    outcome = outcome[:, ~np.isnan(outcome).all(axis=0)] if len(outcome) else outcome
    means = centred_means(outcome, axes) if len(axes) else np.zeros(0)
    values = np.column_stack([one[seen], means, held[seen]])
    alone = np.bincount(axes)[axes] < 2 if len(axes) else np.zeros(0, dtype=bool)
    values, axes, groups, outcome = values[~alone], axes[~alone], groups[~alone], outcome[~alone]
    groups = np.unique(groups, return_inverse=True)[1]
    return _Data(ranks_within(values, axes), values, axes, groups), outcome
