"""Rates of groups: counts of negative outcomes, differences and ratios of two rates.

`group_counts` counts outcomes as they are, and as as many independent ones as samples of one prompt are worth.
`difference_of_rates` and `ratio_of_rates` take the limits of each rate, however they were made (for clusters, over
strata).
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from evenhand.stats.arrays import Counts, Floats
from evenhand.stats.intervals import clustered_proportion_interval, wilson_interval
from evenhand.stats.power import effective_n


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
