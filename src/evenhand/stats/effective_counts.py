"""Negative outcomes of groups as counts: plain, and as many independent ones as samples of one prompt are worth."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from evenhand.stats import clustered_proportion_interval, effective_n, wilson_interval

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]

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
    own = np.divide(scattered, independent, out=np.ones_like(n), where=independent > 0)
    return np.asarray(np.minimum(effective_n(n, size, correlation), n / np.maximum(own, 1.0)))


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
