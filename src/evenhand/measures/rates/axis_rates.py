"""Negative rates by axis, with the groups inside: the tables one reads first."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from evenhand.measures.columns import cluster_column, negative_outcomes, require_columns, responses_once
from evenhand.measures.info import CLASSIFIER, COUNTED, NEGATIVE_HARM, ROBBIE, MeasureInfo
from evenhand.measures.rates.group_comparison import compare_groups, spread_p
from evenhand.schema import Card, UsageError
from evenhand.stats import GroupCounts, group_counts, pool_rates


@dataclass(frozen=True)
class AxisRates:
    """Rates in percent, each beside what it is compared with.

    axes: a row over everything (axis null), then one per axis. `estimate` the negative rate with 95 % limits for
    clusters; `background` the rate over everything; `others` the pooled rate of all other axes, with which p and
    q (two-sided, over the axes) compare it and to which `difference` and `minimum_detectable` refer; `spread` the
    standard deviation of the true rates of its groups, percentage points, after the sampling noise is taken off,
    `spread_p` the test that it is 0.
    groups: `background` is the pooled rate of the other groups of the same axis; p two-sided, q over its groups.
    """

    axes: pl.DataFrame
    groups: pl.DataFrame


def axis_rates(
    frame: pl.DataFrame,
    *,
    cluster: str | None = None,
    alpha: float = 0.05,
    draws: int = 999,
    seed: int = 0,
) -> AxisRates:
    """How often responses are negative on each axis and, within it, about each group.

    frame: one row per response with axis, group and negative (1 or 0; null or NaN: missing, counted). A response
    about two groups is a row in each; if there are prompt_id and sample, the row over everything counts it once.
    cluster: column of rows that hang together; prompt_id if None and there. alpha: of the tests whose smallest
    detectable difference is stated. draws, seed: of `spread_p`.
    Raises DataError for absent columns or other judgements, UsageError for options that cannot be.
    Source: ROBBIE (arXiv:2311.18140), appendix C.4 (Tables 29-65 split by axis), with tests added.

    >>> frame = pl.DataFrame({"axis": ["age"] * 40 + ["race"] * 40, "group": (["a"] * 20 + ["b"] * 20) * 2,
    ...                       "negative": ([1] * 10 + [0] * 30) * 2})
    >>> axis_rates(frame).axes.select("axis", "estimate", "background", "others").rows()
    [(None, 25.0, None, None), ('age', 25.0, 25.0, 25.0), ('race', 25.0, 25.0, 25.0)]
    """
    require_columns(frame, ["axis"], "axis_rates")
    if not 0 < alpha < 1 or draws < 1:
        raise UsageError(
            f"axis_rates got alpha={alpha} and draws={draws}.",
            "alpha lies between 0 and 1; at least one draw is needed (999 is usual).",
        )
    outcomes = negative_outcomes(frame, "axis_rates")
    cluster = cluster_column(frame, cluster, "axis_rates")
    groups = compare_groups(outcomes, cluster, within_axis=True, alpha=alpha)
    as_groups = outcomes.with_columns(group="axis", axis=pl.lit(None, pl.String))
    axes = compare_groups(as_groups, cluster, within_axis=False, alpha=alpha).select(
        pl.col("group").alias("axis"), pl.exclude("axis", "group")
    )
    once = responses_once(outcomes).with_columns(group=pl.lit("all"), axis=pl.lit(None, pl.String))
    whole = compare_groups(once, cluster, within_axis=False, alpha=alpha).select(
        pl.lit(None, pl.String).alias("axis"), pl.exclude("axis", "group")
    )
    overall = whole["estimate"][0]
    axes = axes.rename({"background": "others"}).with_columns(background=pl.lit(overall, pl.Float64))
    whole = whole.rename({"background": "others"}).with_columns(background=pl.lit(None, pl.Float64))
    spread = _spreads(group_counts(outcomes, cluster), draws, seed)
    table = pl.concat([whole, axes]).join(spread, on="axis", how="left", maintain_order="left")
    order = ("axis", "estimate", "low", "high", "n", "n_missing", "n_effective", "background", "others")
    return AxisRates(
        axes=table.select(
            *order, "difference", "p", "q", "minimum_detectable", "n_groups", "spread", "spread_p"
        ),
        groups=groups,
    )


def _spreads(counts: GroupCounts, draws: int, seed: int) -> pl.DataFrame:
    axis = counts.names["axis"]
    rows = []
    for number, name in enumerate(axis.unique(maintain_order=True)):
        places = np.flatnonzero((axis == name).to_numpy() & (counts.totals > 0))
        totals = counts.effective_totals[places]
        hits = totals * counts.negatives[places] / np.maximum(counts.totals[places], 1)
        several = len(places) > 1 and totals.sum() > 0
        rows.append(
            {
                "axis": name,
                "n_groups": len(places),
                "spread": 100.0 * pool_rates(hits, totals).between_deviation if several else None,
                "spread_p": spread_p(totals, hits, draws, np.random.default_rng([seed, number]))
                if several
                else None,
            }
        )
    schema = {"axis": pl.String, "n_groups": pl.Int64, "spread": pl.Float64, "spread_p": pl.Float64}
    return pl.DataFrame(rows, schema=schema)


CARDS = (
    MeasureInfo.of(
        Card(
            name="axis_rate",
            summary="Negative rate over all prompts of an axis, beside that of all other axes.",
            construct="Which axes a model speaks of negatively.",
            harm=NEGATIVE_HARM,
            groups="Axes; within each its groups with each other.",
            ideal="That of the other axes.",
            direction="Higher is worse.",
            null="The pooled rate of all other axes (the column others).",
            critique=CLASSIFIER + "Axes differ in their prompts, not only in whom these mention.",
            citation=ROBBIE,
            source="Esiobu et al. 2023, appendix C.4",
            details=(
                "95 % limits for clusters (Wilson's with a design effect); Fisher's exact test, two-sided by "
                "doubling. spread is the standard deviation of the true rates of an axis' groups (beta-binomial). "
                + COUNTED
            ),
        ),
        unit="percent of responses",
    ),
)
