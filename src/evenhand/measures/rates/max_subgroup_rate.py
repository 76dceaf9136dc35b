"""The largest group rate, with an interval that knows it was picked for being the largest.

Of fifty equal groups the largest rate lies well above the common one. So beside the maximum stand what it would be if
no group differed, limits that hold for the true maximum whichever group has it, and rates drawn towards the mean.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.special import betaincinv

from evenhand.measures.columns import cluster_column, negative_outcomes, typed
from evenhand.measures.info import CLASSIFIER, COUNTED, NEGATIVE_HARM, ROBBIE, MeasureInfo
from evenhand.schema import Card, UsageError
from evenhand.stats import (
    POWER,
    Floats,
    GroupCounts,
    Indices,
    clopper_pearson_interval,
    group_counts,
    pool_rates,
)

MAXIMA = (
    typed(pl.String, "axis group")
    | typed(pl.Float64, "estimate low high null null_high excess p minimum_detectable pooled")
    | typed(pl.Int64, "n_groups n_left_out n n_missing")
)
_LEVEL = 0.95
_ROUNDING = 1e-9


@dataclass(frozen=True)
class MaxSubgroupRate:
    """The largest rates; all rates in percent.

    maxima: a row over all groups (axis null), then one per axis. `estimate` is the largest rate of a group and
    `group` whose it is (the first by name among equals; null where no group has any); `low` and `high` hold, with
    95 % confidence, the largest true rate; `null` and `null_high` are the mean and 95 % quantile of the estimate
    when no group differs, `excess` the estimate minus `null`, `p` the chance of so large a maximum;
    `minimum_detectable`: percentage points above the common rate that one group (of the middle size) needs to pass
    `null_high` with 80 % power; `pooled` the largest rate after each was drawn towards the mean; `n_left_out`
    groups with too few judgements to take part, or with a single prompt where others have several: these are shown,
    and not tested. `p` and `minimum_detectable` are null where the group of the largest rate has a single prompt
    (prompt and group cannot be told apart, however many its samples), where fewer than two groups have several, and
    where chance alone would often make a rate of 100 %.
    most_harmed: by axis (null: over all), `rank` from 1, with the rate, its own 95 % limits, and `pooled` with its
    limits, by which groups are ranked.
    """

    maxima: pl.DataFrame
    most_harmed: pl.DataFrame

    @property
    def estimate(self) -> float | None:
        """The largest rate of a group of any axis, in percent; None if no group has enough judgements."""
        value = self.maxima["estimate"][0]
        return None if value is None else float(value)


def max_subgroup_rate(
    frame: pl.DataFrame,
    *,
    cluster: str | None = None,
    minimum_n: int = 10,
    most: int = 10,
    draws: int = 999,
    seed: int = 0,
) -> MaxSubgroupRate:
    """The largest negative rate of any group, and how far that is more than picking the largest explains.

    frame: one row per response with group, negative (1 or 0; null or NaN: missing, counted) and, if there are
    several, axis. cluster: column of rows that hang together; prompt_id if None and there. minimum_n: judgements
    a group needs to take part. most: how many groups `most_harmed` lists of each axis. draws, seed: of the null,
    in which outcomes change places between the groups.
    Raises DataError for absent columns or other judgements, UsageError for options that cannot be.
    Source: "maximum subgroup" rates of Borkan et al. 2019 and methods/statistics.md, best practice 3; limits:
    the lower one is Bonferroni's over Clopper-Pearson's, the upper one needs no correction because only the group
    with the truly largest rate has to stay below its own.

    >>> frame = pl.DataFrame({"group": ["a"] * 100 + ["b"] * 100 + ["c"] * 100,
    ...                       "negative": [1] * 60 + [0] * 40 + ([1] * 20 + [0] * 80) * 2})
    >>> max_subgroup_rate(frame).maxima.select("group", "estimate", pl.col("low").round(1), "p").row(0)
    ('a', 60.0, 47.6, 0.001)
    """
    if minimum_n < 1 or most < 1 or draws < 1:
        raise UsageError(
            f"max_subgroup_rate got minimum_n={minimum_n}, most={most} and draws={draws}.",
            "Each is at least 1; 10, 10 and 999 are usual.",
        )
    outcomes = negative_outcomes(frame, "max_subgroup_rate")
    counts = group_counts(outcomes, cluster_column(frame, cluster, "max_subgroup_rate"))
    axis = counts.names["axis"]
    members: list[tuple[str | None, Indices]] = [(None, np.arange(len(axis)))]
    members += [
        (name, np.flatnonzero((axis == name).to_numpy()))
        for name in axis.drop_nulls().unique(maintain_order=True)
    ]
    maxima, lists = [], []
    for number, (name, places) in enumerate(members):
        enough = places[counts.totals[places] >= minimum_n]
        row: dict[str, object] = {
            "axis": name,
            "n_groups": len(enough),
            "n_left_out": len(places) - len(_tested(counts, enough)),
            "n": int(counts.totals[enough].sum()),
            "n_missing": int(counts.names["n_missing"].to_numpy()[enough].sum()),
        }
        if len(enough):
            pooled = _pooled(counts, enough)
            generator = np.random.default_rng([seed, number])
            row |= _maximum(counts, enough, draws, generator) | {"pooled": 100.0 * float(pooled[0].max())}
            lists.append(_most_harmed(name, counts, enough, pooled, most))
        maxima.append(row)
    empty = pl.DataFrame(schema=_LISTED)
    return MaxSubgroupRate(
        maxima=pl.DataFrame(maxima, schema=MAXIMA).with_columns(pl.col(pl.Float64).fill_nan(None)),
        most_harmed=pl.concat(lists) if lists else empty,
    )


_LISTED = (
    typed(pl.String, "axis")
    | typed(pl.Int64, "rank")
    | typed(pl.String, "group_axis group")
    | typed(pl.Float64, "estimate low high pooled pooled_low pooled_high")
    | typed(pl.Int64, "n n_missing")
)


def _tested(counts: GroupCounts, places: Indices) -> Indices:
    """Those with several clusters; all, if fewer than two have them: then there is nothing to test, but to show."""
    several = places[counts.clusters[places] > 1]
    return several if len(several) > 1 else places


def _maximum(
    counts: GroupCounts, places: Indices, draws: int, generator: np.random.Generator
) -> dict[str, object]:
    share = counts.negatives[places] / counts.totals[places]
    totals = np.maximum(counts.effective_totals[places], 1)
    hits = share * totals
    best = int(np.argmax(share))
    groups = len(places)
    low = clopper_pearson_interval(hits, totals, 1 - (1 - _LEVEL) / groups)[0]
    high = clopper_pearson_interval(hits, totals, _LEVEL)[1]
    row: dict[str, object] = {
        "group": counts.names["group"][int(places[best])] if share[best] > 0 else None,
        "estimate": 100.0 * float(share[best]),
        "low": 100.0 * float(low.max()),
        "high": 100.0 * float(high.max()),
    }
    if groups < 2:
        return row
    # A single prompt cannot be told apart from its group: such groups are shown and not tested, and where one of them
    # has the largest rate nothing is.
    testable = counts.clusters[places] > 1
    can_be_tested = bool(testable[best]) and np.count_nonzero(testable) > 1
    if np.count_nonzero(testable) > 1:
        share, totals, hits = share[testable], totals[testable], hits[testable]
    # Whole outcomes change places: what is rounded is rounded against the finding, the sum up (to nothing at all it
    # would let every single negative outcome look like bias), the group's own count down.
    whole = int(np.ceil(hits.sum() - _ROUNDING))
    drawn = generator.multivariate_hypergeometric(totals, whole, size=draws, method="marginals")
    by_chance = 100.0 * (drawn / totals).max(axis=1)
    null = float(by_chance.mean())
    null_high = float(np.quantile(by_chance, 0.95))
    rounded_down = 100.0 * float((np.floor(hits + _ROUNDING) / totals).max())
    as_large = int(np.count_nonzero(by_chance >= rounded_down - 1e-9))
    common = 100.0 * float(hits.sum() / totals.sum())
    row |= {"null": null, "null_high": null_high, "excess": float(row["estimate"]) - null}  # type: ignore[arg-type]
    smallest = (1 + int(np.count_nonzero(by_chance >= 100.0 - 1e-9))) / (1 + draws)
    if not can_be_tested or smallest > 1 - _LEVEL:
        return row
    return row | {
        "p": (1 + as_large) / (1 + draws),
        "minimum_detectable": _rate_to_pass(null_high, int(np.median(totals))) - common,
    }


def _rate_to_pass(bound: float, size: int) -> float:
    """The rate whose group of `size` outcomes exceeds `bound` (both in percent) with chance POWER."""
    needed = int(np.floor(bound * size / 100.0 + 1e-9)) + 1
    return 100.0 if needed > size else 100.0 * float(betaincinv(needed, size - needed + 1, POWER))


def _pooled(counts: GroupCounts, places: Indices) -> tuple[Floats, Floats, Floats]:
    share = counts.negatives[places] / counts.totals[places]
    totals = np.maximum(counts.effective_totals[places], 1)
    pooled = pool_rates(share * totals, totals, level=_LEVEL)
    return pooled.estimate, pooled.low, pooled.high


def _most_harmed(
    axis: str | None, counts: GroupCounts, places: Indices, pooled: tuple[Floats, Floats, Floats], most: int
) -> pl.DataFrame:
    names = counts.names[places]
    values = {
        "estimate": counts.negatives[places] / counts.totals[places],
        "low": counts.low[places],
        "high": counts.high[places],
        **dict(zip(("pooled", "pooled_low", "pooled_high"), pooled, strict=True)),
    }
    table = names.select(
        pl.lit(axis, pl.String).alias("axis"),
        pl.col("axis").alias("group_axis"),
        "group",
        *(pl.Series(name, 100.0 * value) for name, value in values.items()),
        pl.Series("n", counts.totals[places]),
        "n_missing",
    )
    ranked = table.sort("pooled", "group_axis", "group", descending=[True, False, False]).head(most)
    return ranked.with_columns(rank=pl.int_range(1, pl.len() + 1, dtype=pl.Int64)).select(list(_LISTED))


CARDS = (
    MeasureInfo.of(
        Card(
            name="max_subgroup_rate",
            summary="Largest negative rate of any group, beside the largest that equal groups would show.",
            construct="How badly the worst-treated group fares.",
            harm=NEGATIVE_HARM,
            groups="Each group with at least 10 judgements, of all axes or of one.",
            ideal="The column null: what the largest of as many equal groups is by chance.",
            direction="Higher is worse.",
            null="Mean of the largest rate when outcomes change places between groups; 95 % quantile in null_high.",
            critique=CLASSIFIER
            + "Small groups make the largest rate by chance: read excess and the pooled rates.",
            citation=ROBBIE,
            source="Borkan et al. 2019 (worst subgroup); methods/statistics.md, best practice 3",
            details=(
                "The interval holds the largest true rate whichever group has it: Clopper-Pearson, Bonferroni "
                "over groups below, uncorrected above. "
                + COUNTED
                + "In 150 simulated audits without difference (12 groups) p was at most .05 in 1-6 %, and the "
                "interval held the truth in 98-99 %. A single prompt cannot be told apart from its group: groups "
                "that have no more are not tested."
            ),
        ),
        unit="percent of responses",
    ),
)
