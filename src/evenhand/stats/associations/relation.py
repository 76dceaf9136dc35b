"""Partial rank correlation of two quantities with clustered observations: test, CI and minimum detectable correlation.

Rows of a cluster (such as similar descriptors) are similar in both quantities. A test that permutes single rows
therefore has a false-positive rate of 34% if half of each variance is between clusters. Here, a jackknife leaves out
whole clusters and ranks the remaining rows again. The simulations are in tests/stats/associations/.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr, stdtrit

from evenhand.stats.arrays import Codes, Floats, mean_of_known
from evenhand.stats.associations.arranged import RankData, prepare_rank_data
from evenhand.stats.clusters import smallest_flip_p
from evenhand.stats.power import POWER, noncentrality

LARGEST_Z = math.atanh(0.9999)
"""Bound on Fisher's scale, on which a correlation of 1 would be infinite."""
LARGEST_MISSED = 0.9
"""If the minimum detectable correlation is larger, the relation is not measurable."""
LEAST_EFFECTIVE = 5.0
"""Smallest effective number of clusters. With fewer, the jackknife cannot estimate the standard error."""
LEAST_TEMPLATES = 3
"""Smallest number of templates that can be left out in turn, for the variance between templates."""
LEAST_RELIABLE = 0.5
"""Smallest reliability of the first quantity. With less, its ranks are mostly noise."""
DRAWS = 1999
"""Number of random sign patterns behind ``chance``."""
TOO_FEW_TEMPLATES = (
    "There are only {} templates, which is too few to generalise to similar ones. Three are needed that can be left "
    "out in turn."
)


@dataclass(frozen=True)
class RankRelation:
    """Result of `rank_relation`: a partial rank correlation with its CI and p.

    If the data could not show any correlation, numbers are NaN and ``obstacle`` gives the reason.
    """

    estimate: float
    """Partial rank correlation within strata, -1 to 1."""
    low: float
    high: float
    """Upper bound of the 95% CI. The interval excludes 0 exactly if p is at most 0.05."""
    p: float
    """Two-sided p-value of no correlation within strata, given the controls."""
    chance: float
    """95% quantile of the absolute estimate if there is no correlation (signs of clusters flipped at random)."""
    minimum_detectable: float
    """Smallest true correlation that is detected with 80% power at `level`.

    It is the correlation that the two quantities would have if they were measured without noise and had no ties.
    """
    rows: int
    clusters: int
    effective: float
    """Effective number of clusters: the number of equally large clusters with the same information."""
    templates: int
    """Number of columns (such as templates) of the second quantity."""
    obstacle: str | None = None


def rank_relation(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    *,
    strata: npt.ArrayLike,
    clusters: npt.ArrayLike,
    controls: npt.ArrayLike | None = None,
    level: float = 0.05,
    tests: int = 1,
    reliability: float = 1.0,
    seed: int = 0,
) -> RankRelation:
    """Test whether two quantities are rank-correlated within strata, given controls.

    Only monotonic relations are detected.

    Parameters
    ----------
    first : array_like, shape (n,)
        For example, how often a corpus mentions each descriptor.
    second : array_like, shape (n,) or (n, t)
        For example, the outcome of each descriptor in t templates; NaN is missing. With several columns, the result
        generalises to similar templates.
    strata : array_like, shape (n,)
        Labels, such as axes. Rows are only compared within a stratum.
    clusters : array_like, shape (n,)
        Labels of the sampling units: sets of similar rows. Each cluster is in one stratum.
    controls : array_like, shape (n, c), optional
        Quantities whose effect is removed.
    level : float, default 0.05
        Significance level.
    tests : int, default 1
        Number of tests that share `level`. Affects the minimum detectable correlation.
    reliability : float, default 1
        Reliability of `first`, 0 to 1: the expected rank correlation with another sample of the same size.
    seed : int, default 0
        Random seed of ``chance``.

    Returns
    -------
    RankRelation
        Correlation, CI, p and minimum detectable correlation. Rows with NaN in `first`, `second` or a control are left
        out, and so are rows that are alone in their stratum.

    Raises
    ------
    UsageError
        Shapes differ.

    Notes
    -----
    Ranks are computed within strata. The ranks, squared ranks and bins of each control are removed from both quantities
    by least squares. The residuals are correlated.

    The standard error on Fisher's scale is from a jackknife over clusters. It is at least that of as many independent
    rows. With several templates, their variance is added. Student's t has the smaller of two degrees of freedom:
    templates minus 1, and effective clusters minus 1.

    The result is not measurable (``obstacle``) in these cases:

    - There are too few clusters: fewer than six at level 0.05, or fewer than five effective ones.
    - There are two templates, or too few that can be left out in turn.
    - A quantity does not vary, or its reliability is below 0.5.
    - Only correlations above 0.9, or above what ties allow, would be detected.

    References
    ----------
    - Kendall 1942: partial rank correlation. Bonett & Wright 2000: Fisher's scale for ranks.
    - Spearman 1904: reliability. Mickey & Brown 1966: degrees of freedom.
    - Efron & Stein 1981; Cameron, Gelbach & Miller 2008: jackknife over clusters.
    - Carter, Schnepel & Steigerwald 2017: effective number of clusters.

    >>> often = np.arange(24.0)
    >>> kind = often + 5 * np.sin(often)
    >>> found = rank_relation(often, kind, strata=often >= 12, clusters=often // 2)
    >>> found.clusters, found.p < 0.05, found.low > 0
    (12, True, True)
    """
    data = prepare_rank_data(first, second, strata, clusters, controls)
    return _test_relation(data, (level, level / tests), max(1e-6, reliability), seed)


def _test_relation(
    data: RankData, levels: tuple[float, float], reliability: float, seed: int
) -> RankRelation:
    rows, groups, templates = len(data.values), data.n_clusters, data.outcome.shape[1]
    residuals = data.residuals if rows else np.zeros((0, 2))
    estimate = data.correlation()
    held = np.bincount(data.clusters, np.square(residuals[:, 0]), minlength=groups)
    effective = float(held.sum() ** 2 / np.square(held).sum()) if held.any() else 0.0
    z = _on_fishers_scale(0.0 if math.isnan(estimate) else estimate)
    obstacle = _obstacle(estimate, data, effective, levels[0], reliability)
    found = None if obstacle is not None else _error(data, z, effective)
    if found is None:
        empty = float("nan")
        obstacle = obstacle or TOO_FEW_TEMPLATES.format(templates)
        return RankRelation(
            estimate, empty, empty, empty, empty, empty, rows, groups, effective, templates, obstacle
        )
    error, freedom = found
    half = float(stdtrit(freedom, 0.975)) * error
    seen = math.tanh(float(noncentrality(np.array([freedom]), levels[1], POWER)[0]) * error)
    attainable = data.largest_correlation()
    # Noise in the first quantity reduces a correlation by the root of its reliability (Spearman 1904), and ties reduce
    # it to at most `attainable`. The smaller factor converts a detectable correlation of ranks to a true one.
    drawn = max(1e-6, min(math.sqrt(reliability), attainable))
    return RankRelation(
        estimate=estimate,
        low=math.tanh(z - half),
        high=math.tanh(z + half),
        p=float(2 * stdtr(freedom, -abs(z) / error)),
        chance=_chance(residuals, data.clusters, seed),
        minimum_detectable=min(1.0, seen / drawn),
        rows=rows,
        clusters=groups,
        effective=effective,
        templates=templates,
        obstacle=_too_coarse(seen, attainable, drawn),
    )


def _obstacle(
    estimate: float, data: RankData, effective: float, level: float, reliability: float
) -> str | None:
    groups = data.n_clusters
    if math.isnan(estimate):
        if len(data.values) <= 2:
            return "Fewer than three descriptors have both a frequency and an outcome."
        return "The frequency or the outcome does not vary among descriptors of the same axis with equal controls."
    if smallest_flip_p(groups) > level:
        needed = next(k for k in range(2, 64) if smallest_flip_p(k) <= level)
        return (
            f"There {'is only 1 cluster' if groups == 1 else f'are only {groups} clusters'} of similar descriptors. At "
            f"the level {level:.2g}, {needed} are needed."
        )
    if effective < LEAST_EFFECTIVE:
        return (
            f"Few clusters of descriptors differ in frequency: the {groups} clusters have the information of "
            f"{effective:.1f} clusters of equal size. At least {LEAST_EFFECTIVE:g} are needed."
        )
    if len(data.values) < data.n_removed + 6:
        return f"{len(data.values)} descriptors are too few for {data.values.shape[1] - 2} controls."
    if reliability < LEAST_RELIABLE:
        return (
            f"The frequencies are too noisy: their reliability in samples of this size is {reliability:.2f}, and at "
            f"least {LEAST_RELIABLE:g} is needed."
        )
    return None


def _too_coarse(seen: float, attainable: float, drawn: float) -> str | None:
    if seen > attainable:
        return (
            f"Because of ties, no correlation above {attainable:.2f} is possible, and only correlations of "
            f"{seen:.2f} or "
            "more are detectable."
        )
    if seen / drawn <= LARGEST_MISSED:
        return None
    return f"The power to detect even a correlation of {LARGEST_MISSED:g} is below 80%."


def _error(data: RankData, z: float, effective: float) -> tuple[float, float] | None:
    """Return the standard error on Fisher's scale and its degrees of freedom; None if there are too few templates.

    `z` is the estimate on Fisher's scale, and `effective` the effective number of clusters.
    """
    estimate = math.tanh(z)
    stretched = 1 / (1 - estimate**2) ** 2  # converts a variance of r to Fisher's scale
    without = [
        _correlation_or_default(data.drop_rows(data.clusters == group), estimate)
        for group in range(data.n_clusters)
    ]
    between = stretched * _jackknife_variance(without)
    spare = len(data.values) - data.n_removed - len(np.unique(data.strata)) - 2
    # variance of a rank correlation of independent rows on Fisher's scale (Bonett & Wright 2000)
    independent = (1 + estimate**2 / 2) / max(1, spare)
    variance = max(between, independent)
    freedom = max(1.0, effective - 1)
    if data.outcome.shape[1] < 2:
        return math.sqrt(variance), freedom
    usable = [
        fewer
        for column in range(data.outcome.shape[1])
        if len((fewer := data.drop_sample(column)).values) > fewer.n_removed + 6
    ]
    if len(usable) < LEAST_TEMPLATES:
        return None
    sampled = stretched * _jackknife_variance([_correlation_or_default(fewer, estimate) for fewer in usable])
    sampled *= _own_slopes(data)
    return math.sqrt(variance + sampled), min(freedom, len(usable) - 1)


def _correlation_or_default(data: RankData, estimate: float) -> float:
    found = data.correlation()
    return estimate if math.isnan(found) else found


def _jackknife_variance(without: Sequence[float]) -> float:
    """Return the jackknife variance of an estimate, from its values with each cluster or template left out in turn."""
    found = np.array(without)
    return (len(found) - 1) / len(found) * float(np.square(found - found.mean()).sum())


def _own_slopes(data: RankData) -> float:
    """Return the share (0 to 1) of the variance of slopes between templates that is due to the templates.

    The slope of a template is a sum over clusters, so slopes also vary by the noise of single cells (a cluster in a
    template). The jackknife over clusters contains this noise already.
    """
    left = np.empty_like(data.outcome)
    for stratum in np.unique(data.strata):
        mine = data.strata == stratum
        left[mine] = data.outcome[mine] - mean_of_known(data.outcome[mine], 0)
    weighted = np.where(np.isnan(left), 0.0, left) * data.residuals[:, :1]
    cells = np.zeros((data.n_clusters, left.shape[1]))
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
