"""Rates of groups: counts of negative outcomes, differences and ratios of two rates, and cells of two ways.

`group_counts` counts outcomes as they are, and as as many independent ones as samples of one prompt are worth.
`difference_of_rates` and `ratio_of_rates` take the limits of each rate, however they were made (for clusters, over
strata). `additive_rates` fits log-odds = row + column to the counts of cells.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.special import chdtrc, expit, ndtr, xlogy

from evenhand.stats.arrays import Codes, Counts, Floats
from evenhand.stats.intervals import clustered_proportion_interval, wilson_interval
from evenhand.stats.power import effective_n

_RIDGE = 1e-6
"""Keeps log-odds of rows without any negative finite; moves a rate by less than one in a million."""
_STEPS = 60


@dataclass(frozen=True)
class Limited:
    """Rates with limits, shares (n,)."""

    rate: Floats
    low: Floats
    high: Floats


def difference_of_rates(first: Limited, second: Limited) -> Limited:
    """First minus second of independent rates, with limits recovered from those of the two.

    With Wilson's limits this is Newcombe's interval. Source: Newcombe 1998, method 10; Zou & Donner 2008 (MOVER).

    >>> limits = Limited(np.array([0.8]), np.array([0.692]), np.array([0.877]))
    >>> other = Limited(np.array([0.6]), np.array([0.49]), np.array([0.7]))
    >>> difference_of_rates(limits, other).low.round(3).tolist()
    [0.053]
    """
    estimate = first.rate - second.rate
    below = np.hypot(first.rate - first.low, second.high - second.rate)
    above = np.hypot(first.high - first.rate, second.rate - second.low)
    return Limited(estimate, estimate - below, estimate + above)


def ratio_of_rates(first: Limited, second: Limited) -> Limited:
    """First over second of independent rates, with limits recovered from those of the two on the log scale.

    A rate of 0 below the line gives infinity (NaN for 0 / 0), one above it 0, each with the limit that can be known.
    Source: Zou & Donner 2008; Donner & Zou 2012.

    >>> ratio = ratio_of_rates(Limited(*np.array([[0.2], [0.1], [0.4]])), Limited(*np.array([[0.1], [0.05], [0.2]])))
    >>> [round(float(value[0]), 3) for value in (ratio.rate, ratio.low, ratio.high)]
    [2.0, 0.75, 5.33]
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = [np.log(value) for value in (first.rate, first.low, first.high)]
        other = [np.log(value) for value in (second.rate, second.low, second.high)]
        ratio = first.rate / second.rate
        center = logs[0] - other[0]
        low = np.exp(center - np.hypot(logs[0] - logs[1], other[2] - other[0]))
        high = np.exp(center + np.hypot(logs[2] - logs[0], other[0] - other[1]))
        # at a rate of 0 the logarithm has no distance to measure: the corner of both limits holds at least as often
        low = np.where(first.rate > 0, np.where(second.rate > 0, low, first.low / second.high), 0.0)
        high = np.where(second.rate > 0, np.where(first.rate > 0, high, first.high / second.low), np.inf)
    return Limited(ratio, low, high)


@dataclass(frozen=True)
class AdditiveRates:
    """What the additive model says of each cell (cells,), and how far the cells together depart from it.

    expected: fitted rates, NaN where the cell alone decides its row or column. error: standard deviation of
    observed minus expected rate if the model holds. p: two-sided, of a cell's departure. heterogeneity_p: of all.
    """

    expected: Floats
    error: Floats
    p: Floats
    heterogeneity_p: float
    freedom: int


def additive_rates(negatives: Floats, totals: Floats, rows: Codes, columns: Codes) -> AdditiveRates:
    """Fit log-odds = row + column to cells and compare each cell with it.

    negatives, totals: (cells,), fractions allowed; totals above 0. rows, columns: (cells,), codes from 0. p is that of
    the adjusted residual: the departure over its own standard deviation, which the fit has made smaller. Source:
    Agresti 2013, sections 4.5.6 and 5.1; Pearson's X-squared for all cells, as it is defined without negatives.

    >>> model = additive_rates(np.array([10.0, 20.0, 20.0, 35.0]), np.full(4, 100.0),
    ...                        np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]))
    >>> model.expected.round(3).tolist(), model.freedom
    ([0.102, 0.198, 0.198, 0.352], 1)
    """
    design = _design(rows, columns)
    rate, hat = _fit(negatives, totals, design)
    variance = totals * rate * (1 - rate)
    freedom = len(totals) - int(np.linalg.matrix_rank(design))
    # a cell that its row or column consists of is fitted exactly: nothing is left to compare
    free = 1 - hat > 1e-4
    error = np.sqrt(np.where(free, variance * (1 - hat), np.nan)) / totals
    departure = negatives / totals - rate
    with np.errstate(invalid="ignore", divide="ignore"):
        z = np.where(error > 1e-9, np.abs(departure) / error, 0.0)
        pearson = np.where(variance > 1e-9, np.square(totals * departure) / variance, 0.0)
    heterogeneity = float(chdtrc(freedom, pearson.sum())) if freedom > 0 else float("nan")
    return AdditiveRates(
        expected=np.where(free, rate, np.nan),
        error=error,
        p=np.where(free, 2 * ndtr(-z), np.nan),
        heterogeneity_p=heterogeneity,
        freedom=freedom,
    )


def _design(rows: Codes, columns: Codes) -> Floats:
    by_row = (rows[:, None] == np.arange(rows.max() + 1)).astype(np.float64)
    by_column = (columns[:, None] == np.arange(1, columns.max() + 1)).astype(np.float64)
    return np.concatenate([by_row, by_column], axis=1)


def _fit(negatives: Floats, totals: Floats, design: Floats) -> tuple[Floats, Floats]:
    """Fitted rates and leverages, by Newton's method with halved steps where one goes too far."""
    common = np.log((negatives.sum() + 0.5) / (totals.sum() - negatives.sum() + 0.5))
    weights = np.linalg.lstsq(design, np.full(len(totals), common), rcond=None)[0]
    ridge = _RIDGE * np.eye(design.shape[1])
    objective = _objective(negatives, totals, design, weights)
    for _ in range(_STEPS):
        rate = expit(design @ weights)
        information = (design.T * (totals * rate * (1 - rate))) @ design + ridge
        step = np.linalg.solve(information, design.T @ (negatives - totals * rate) - _RIDGE * weights)
        size = 1.0
        while size > 1e-4 and _objective(negatives, totals, design, weights + size * step) < objective:
            size /= 2
        weights = weights + size * step
        improved = _objective(negatives, totals, design, weights)
        if improved - objective < 1e-10 and np.abs(step).max() < 1e-6:
            break
        objective = max(improved, objective)
    rate = expit(design @ weights)
    root = np.sqrt(totals * rate * (1 - rate))[:, None] * design
    information = root.T @ root + ridge
    hat = np.einsum("ij,ji->i", root, np.linalg.solve(information, root.T))
    return rate, hat


def _objective(negatives: Floats, totals: Floats, design: Floats, weights: Floats) -> float:
    rate = expit(design @ weights)
    likelihood = xlogy(negatives, np.maximum(rate, 1e-300)) + xlogy(
        totals - negatives, np.maximum(1 - rate, 1e-300)
    )
    return float(likelihood.sum() - _RIDGE / 2 * np.square(weights).sum())


_ROUNDING = 1e-9


@dataclass(frozen=True)
class GroupCounts:
    """Outcomes of the groups, sorted by axis and name; `low` and `high` are 95 % limits, shares."""

    names: pl.DataFrame
    """axis, group, n_missing."""
    totals: Counts
    negatives: Counts
    low: Floats
    high: Floats
    effective_totals: Counts
    """Independent outcomes that the outcomes are worth, rounded down; `totals` without clusters."""
    effective_negatives: Counts
    """Of those, the negative ones, rounded down."""
    effective_sum: int
    """Negative ones over all groups, rounded up, so that rounding speaks against a finding."""
    clusters: Counts
    """Judged clusters of each group, such as prompts; `totals` without clusters."""


def group_counts(outcomes: pl.DataFrame, cluster: str | None) -> GroupCounts:
    """Count the outcomes of each group, clustered if a prompt has several.

    outcomes: axis, group, negative (1, 0, null). cluster: the column whose rows hang together, or None.
    The intraclass correlation is learnt from all groups together, since one small group cannot tell it; a group
    whose own clusters scatter more than that goes by its own. Source: Kish 1965, section 5.4.
    """
    keys = ["axis", "group"]
    groups = (
        outcomes.group_by(keys)
        .agg(
            n=pl.col("negative").count().cast(pl.Int64),
            n_missing=pl.col("negative").null_count().cast(pl.Int64),
            negatives=pl.col("negative").sum().cast(pl.Int64),
        )
        .sort(keys)
    )
    names, totals, negatives = (
        groups.select(*keys, "n_missing"),
        *(groups[name].to_numpy().astype(np.int64) for name in ("n", "negatives")),
    )
    known = outcomes.filter(pl.col("negative").is_not_null())
    alone = cluster is None or not known.select(*keys, pl.col(cluster).alias("_")).is_duplicated().any()
    if cluster is None or alone:
        low, high = wilson_interval(negatives, totals)
        return GroupCounts(
            names, totals, negatives, low, high, totals, negatives, int(negatives.sum()), totals
        )
    low, high = _clustered_limits(groups, known, cluster)
    worth = _effective_totals(groups, known, cluster)
    whole = np.floor(worth + _ROUNDING).astype(np.int64)
    share = negatives / np.maximum(totals, 1)
    clusters = groups.join(
        known.group_by(keys).agg(clusters=pl.col(cluster).n_unique().cast(pl.Int64)),
        on=keys,
        how="left",
        nulls_equal=True,
        maintain_order="left",
    )["clusters"]
    return GroupCounts(
        names,
        totals,
        negatives,
        low,
        high,
        whole,
        np.floor(share * whole + _ROUNDING).astype(np.int64),
        int(np.ceil(float(np.sum(share * whole)) - _ROUNDING)),
        clusters.fill_null(0).to_numpy(),
    )


def _effective_totals(groups: pl.DataFrame, known: pl.DataFrame, cluster: str) -> Floats:
    keys = ["axis", "group"]
    cells = known.group_by(*keys, cluster).agg(size=pl.len().cast(pl.Float64), hits=pl.col("negative").sum())
    cells = cells.join(groups, on=keys, how="left", nulls_equal=True)
    residual = pl.col("hits") - pl.col("size") * pl.col("negatives") / pl.col("n")
    spread = cells.group_by(keys).agg(
        between=residual.pow(2).sum(), clusters=pl.len().cast(pl.Float64), squares=pl.col("size").pow(2).sum()
    )
    table = groups.join(spread, on=keys, how="left", nulls_equal=True, maintain_order="left")
    n, hits = (table[name].to_numpy().astype(np.float64) for name in ("n", "negatives"))
    between, clusters, squares = (
        table[name].fill_null(0.0).to_numpy() for name in ("between", "clusters", "squares")
    )
    # sums of squared deviations of clusters, as they are and as independent outcomes would give them
    scattered = between * np.divide(clusters, clusters - 1, out=np.zeros_like(n), where=clusters > 1)
    independent = np.where(clusters > 1, hits * (n - hits) / np.maximum(n, 1), 0.0)
    size = np.divide(squares, n, out=np.ones_like(n), where=n > 0)  # of the cluster an outcome lies in
    # the excess is (size - 1) times the correlation, summed with weight `independent`
    room = float(np.sum(independent * (size - 1)))
    excess = float(np.sum(scattered - independent))
    correlation = min(max(excess / room, 0.0), 1.0) if room > 0 else 1.0
    design_effect = np.divide(scattered, independent, out=np.ones_like(n), where=independent > 0)
    return np.asarray(np.minimum(effective_n(n, size, correlation), n / np.maximum(design_effect, 1.0)))


def _clustered_limits(groups: pl.DataFrame, known: pl.DataFrame, cluster: str) -> tuple[Floats, Floats]:
    codes = known.select("axis", "group", "negative", pl.col(cluster).rank("dense").alias("code"))
    parts = {
        key: part
        for key, part in codes.partition_by("axis", "group", as_dict=True, include_key=False).items()
    }
    low, high = np.zeros(groups.height), np.ones(groups.height)
    for place, key in enumerate(groups.select("axis", "group").iter_rows()):
        if key in parts:
            limits = clustered_proportion_interval(parts[key]["negative"], parts[key]["code"])
            low[place], high[place] = limits.low, limits.high
    return low, high
