"""Rates of groups beside those of all others: intervals, exact tests, and what could have been seen.

What axis_rates, parroting, agreement and rates_by_prompt_toxicity share. Samples of one prompt count for as many
independent outcomes as their design effect leaves (`evenhand.stats.group_counts`).
"""

import numpy as np
import polars as pl

from evenhand.measures.info import CLASSIFIER, NEGATIVE_HARM, ROBBIE, MeasureInfo
from evenhand.schema import Card
from evenhand.stats import (
    Counts,
    Floats,
    GroupCounts,
    Indices,
    benjamini_hochberg,
    detectable_above,
    group_counts,
    per_test_level,
    tails_of_others,
)

_ROUNDING = 1e-9


def compare_groups(
    outcomes: pl.DataFrame, cluster: str | None, *, within_axis: bool, alpha: float = 0.05
) -> pl.DataFrame:
    """Each group's rate with the pooled rate of the others: of its own axis, or of all axes.

    outcomes: axis, group, negative (1, 0, null), as `negative_outcomes` leaves them. cluster: the column whose
    rows hang together, or None. Returns, sorted by axis and group and in percent: estimate, low, high (95 %, for
    clusters), n, n_missing, n_effective, background (the others' rate), difference, p (Fisher's exact test,
    two-sided by doubling), q (over the groups of the axis, or over all), minimum_detectable (percentage points
    above the background, 80 % power). Null where a group has no judgement, or the test no other group.

    >>> frame = pl.DataFrame({"axis": ["x"] * 40, "group": ["a"] * 20 + ["b"] * 20,
    ...                       "negative": [1.0] * 15 + [0.0] * 5 + [0.0] * 20})
    >>> compare_groups(frame, None, within_axis=True).select("group", "estimate", "background", "difference").rows()
    [('a', 75.0, 0.0, 75.0), ('b', 0.0, 75.0, -75.0)]
    """
    counts = group_counts(outcomes, cluster)
    size = len(counts.totals)
    background, p, q, reach = (np.full(size, np.nan) for _ in range(4))
    for members in families(counts, within_axis):
        measured = members[counts.totals[members] > 0]
        if len(measured) < 2:
            continue
        totals, negatives = counts.totals[measured], counts.negatives[measured]
        background[measured] = (negatives.sum() - negatives) / (totals.sum() - totals)
        p[measured] = two_sided_p(counts, measured)
        q[measured] = benjamini_hochberg(p[measured])
        effective = counts.effective_totals[measured]
        reach[measured] = detectable_above(
            effective,
            background[measured],
            per_test_level(alpha, len(measured), "benjamini-hochberg") / 2,  # the smaller tail is doubled
            others=effective.sum() - effective,
        )
    judged = counts.totals > 0
    share = np.divide(counts.negatives, counts.totals, out=np.full(size, np.nan), where=judged)
    percent = {
        "estimate": share,
        "low": np.where(judged, counts.low, np.nan),
        "high": np.where(judged, counts.high, np.nan),
        "background": background,
        "difference": share - background,
        "minimum_detectable": reach - background,
    }
    columns = {name: 100.0 * value for name, value in percent.items()} | {"p": p, "q": q}
    table = counts.names.with_columns(
        n=pl.Series(counts.totals),
        n_effective=pl.Series(counts.effective_totals),
        **{name: pl.Series(value, dtype=pl.Float64).fill_nan(None) for name, value in columns.items()},
    )
    order = ("axis", "group", "estimate", "low", "high", "n", "n_missing", "n_effective", "background")
    return table.select(*order, "difference", "p", "q", "minimum_detectable")


def families(counts: GroupCounts, within_axis: bool) -> list[Indices]:
    """Indices of the groups that are compared with each other: each axis, or everything."""
    if not within_axis:
        return [np.arange(len(counts.totals))]
    axis = counts.names["axis"].rle_id().to_numpy()
    return [np.flatnonzero(axis == number) for number in np.unique(axis)]


def two_sided_p(counts: GroupCounts, members: Indices) -> Floats:
    """Fisher's exact test of each member against the other members, whole effective counts.

    Counts are rounded against the finding on each side, and the smaller tail is doubled.
    """
    totals = counts.effective_totals[members]
    hits = totals * counts.negatives[members] / np.maximum(counts.totals[members], 1)
    fewer, more = np.floor(hits + _ROUNDING), np.ceil(hits - _ROUNDING)
    above = tails_of_others(totals, int(np.ceil(hits.sum() - _ROUNDING))).p_above(fewer.astype(np.int64))
    below = tails_of_others(totals, int(np.floor(hits.sum() + _ROUNDING))).p_below(more.astype(np.int64))
    return np.asarray(np.minimum(1.0, 2 * np.minimum(above, below)))


def spread_p(totals: Counts, negatives: Floats, draws: int, generator: np.random.Generator) -> float:
    """Chance of so large a chi-square over the groups when outcomes change places between them.

    totals: independent outcomes of each group, whole numbers; negatives: those that are negative, fractions
    allowed. NaN with fewer than two groups.
    """
    judged = totals > 0
    size, hits = totals[judged], negatives[judged]
    if len(size) < 2:
        return float("nan")
    total, sum_of_hits = int(size.sum()), int(np.rint(hits.sum()))
    drawn = generator.multivariate_hypergeometric(size, sum_of_hits, size=draws, method="marginals")
    observed = _scatter(hits[None, :], size)[0]
    by_chance = _scatter(drawn.astype(np.float64), size)
    if not 0 < sum_of_hits < total:
        return 1.0
    return float((1 + np.count_nonzero(by_chance >= observed * (1 - 1e-12))) / (1 + draws))


def _scatter(hits: Floats, size: Counts) -> Floats:
    """Chi-square up to a factor that depends on the sums alone."""
    expected = hits.sum(axis=-1, keepdims=True) * size / size.sum()
    return np.asarray((np.square(hits - expected) / size).sum(axis=-1))


# Of rows that benchmarks compute with `compare_groups`: the register of measures names no module of a higher room.
CARDS = (
    MeasureInfo.of(
        Card(
            name="regard_contrast",
            summary="Difference in negative regard between the two groups of an axis, template by template.",
            construct="Whether one of two groups is spoken of with less regard in the same sentences.",
            harm=NEGATIVE_HARM,
            groups="The two groups of an axis, first minus second; the template is held fixed.",
            ideal="0",
            direction="Above 0 the first named group is spoken of more negatively, below 0 the second.",
            null="The two groups exchanged within templates at random.",
            critique=CLASSIFIER
            + "With fewer than six templates no difference can be found, however large; ten are published.",
            citation=ROBBIE,
            source="Sheng et al. 2019, for the pairs; evenhand.benchmarks.analysis.contrasts",
            details=(
                "p by flipping signs (all patterns up to 16 templates), 95 % t limits over templates. In 900 "
                "simulated contrasts without difference, templates differing much, p was at most .05 in 4.0 %."
            ),
        ),
        unit="percentage points",
        ideal=0.0,
    ),
)
