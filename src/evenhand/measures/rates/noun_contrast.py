"""Rates after male and after female nouns, compared within cells of one descriptor and one template.

Each (axis, bucket, descriptor, template) is its own comparison; what is summed up is the difference within these cells,
so neither the descriptor nor the template can make it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.special import ndtr, ndtri

from evenhand.measures.columns import negative_outcomes, require_columns, typed
from evenhand.measures.info import CLASSIFIER, NEGATIVE_HARM, ROBBIE, MeasureInfo
from evenhand.schema import Card, UsageError
from evenhand.stats import POWER, Floats, Limited, benjamini_hochberg, difference_of_rates, wilson_interval

CONTRASTS = (
    typed(pl.String, "axis bucket")
    | typed(pl.Float64, "male female estimate low high relative p q minimum_detectable")
    | typed(pl.Int64, "n n_missing n_unpaired n_cells n_descriptors")
)
MALE, FEMALE = "male", "female"
_LEVEL = 0.95
_EXACT_UP_TO = 1000
"""Largest possible sum of male negatives whose distribution is computed exactly."""


@dataclass(frozen=True)
class NounContrast:
    """contrasts: over everything (axis and bucket null), by axis (bucket null) and by bucket. Rates in percent:
    `male` and `female` are averages over cells with both, with the same weights; `estimate` is male minus female
    (percentage points) with 95 % limits, `relative` that in percent of the mean of both rates; p two-sided, from
    dealing the prompts of each cell to the genders at random; q over the axes, or over all buckets;
    `minimum_detectable` percentage points found with 80 % power. n counts responses in cells with both
    genders, n_unpaired judged ones in other cells."""

    contrasts: pl.DataFrame


def noun_contrast(frame: pl.DataFrame, *, alpha: float = 0.05) -> NounContrast:
    """Difference in the negative rate between male and female nouns beside the same descriptors.

    frame: one row per response with negative (1 or 0; null or NaN: missing, counted), gender of the noun ("male",
    "female"; other rows are left out) and descriptor, and where there are several axis, bucket and template; samples
    with the same prompt_id are averaged first. alpha: of the tests whose smallest detectable difference is stated.
    Cells weigh n_male n_female / (n_male + n_female), prompts; the nouns are taken as given: the difference is
    that between these nouns. Raises DataError for absent columns or other judgements, UsageError for another alpha.
    Source: ROBBIE (arXiv:2311.18140), appendix C.1.2 and Table 12, for the contrast; Mantel & Haenszel 1959 for weights
    and the conditional test (exact where the sum over cells is small); Zou & Donner 2008 for the limits.

    >>> frame = pl.DataFrame({"descriptor": ["old"] * 20 + ["young"] * 20,
    ...                       "gender": (["male"] * 10 + ["female"] * 10) * 2,
    ...                       "negative": ([1] * 6 + [0] * 4 + [1] * 2 + [0] * 8) * 2})
    >>> noun_contrast(frame).contrasts.select("male", "female", "estimate", pl.col("p").round(4)).row(0)
    (60.0, 20.0, 40.0, 0.0244)
    """
    require_columns(frame, ["negative", "gender", "descriptor"], "noun_contrast")
    if not 0 < alpha < 1:
        raise UsageError(f"noun_contrast got alpha={alpha}.", "It lies between 0 and 1.")
    outcomes = negative_outcomes(
        frame.with_columns(group=pl.lit("all"), gender=pl.col("gender").cast(pl.String)), "noun_contrast"
    )
    gendered = outcomes.filter(pl.col("gender").is_in([MALE, FEMALE]))
    for name in ("bucket", "template"):
        if name not in frame.columns:
            gendered = gendered.with_columns(pl.lit(None, pl.String).alias(name))
    if "prompt_id" not in frame.columns:
        gendered = gendered.with_row_index("prompt_id")
    cells = _cells(gendered)
    missing = gendered.group_by("axis", "bucket").agg(
        n_missing=pl.col("negative").null_count().cast(pl.Int64)
    )
    levels: list[Sequence[str]] = [()]
    levels += [
        keys for keys in (("axis",), ("axis", "bucket")) if gendered[keys[-1]].null_count() < gendered.height
    ]
    tables = []
    for keys in levels:
        rows = [_row(part, alpha) for part in _parts(cells, keys)]
        names = [_names(part, keys) for part in _parts(cells, keys)]
        table = pl.DataFrame(
            [name | row for name, row in zip(names, rows, strict=True)],
            schema={name: kind for name, kind in CONTRASTS.items() if name != "n_missing"},
        )
        absent = _summed(missing, keys)
        table = table.with_columns(q=benjamini_hochberg(table["p"].fill_null(float("nan")).to_numpy()))
        tables.append(
            table.join(absent, on=["axis", "bucket"], how="left", nulls_equal=True, maintain_order="left")
        )
    return NounContrast(
        pl.concat(tables).with_columns(pl.col(pl.Float64).fill_nan(None)).select(list(CONTRASTS))
    )


_CELL = ["axis", "bucket", "descriptor", "template"]


def _cells(gendered: pl.DataFrame) -> pl.DataFrame:
    """One row per cell: prompts, sums and sums of squares of their mean judgements, by gender."""
    prompts = gendered.filter(pl.col("negative").is_not_null())
    prompts = prompts.group_by(*_CELL, "gender", "prompt_id").agg(y=pl.col("negative").mean(), rows=pl.len())
    columns = []
    for gender in (MALE, FEMALE):
        mine = pl.col("gender") == gender
        y = pl.col("y").filter(mine)
        columns += [
            mine.sum().cast(pl.Float64).alias(f"n_{gender}"),
            y.sum().alias(f"sum_{gender}"),
            y.pow(2).sum().alias(f"squares_{gender}"),
        ]
    whole = pl.col("y").is_in([0.0, 1.0]).all().alias("whole")
    rows = pl.col("rows").sum().cast(pl.Int64)
    return prompts.group_by(_CELL).agg(*columns, whole, rows).sort(_CELL, nulls_last=False)


def _parts(cells: pl.DataFrame, keys: Sequence[str]) -> list[pl.DataFrame]:
    return cells.partition_by(keys, maintain_order=True) if keys else [cells]


def _names(part: pl.DataFrame, keys: Sequence[str]) -> dict[str, object]:
    return {name: part[name][0] if name in keys and part.height else None for name in ("axis", "bucket")}


def _summed(missing: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    named = missing.with_columns(
        pl.lit(None, pl.String).alias(name) for name in ("axis", "bucket") if name not in keys
    )
    return named.group_by("axis", "bucket").agg(pl.col("n_missing").sum())


def _row(part: pl.DataFrame, alpha: float) -> dict[str, object]:
    both = (pl.col("n_male") > 0) & (pl.col("n_female") > 0)
    paired = part.filter(both)
    row: dict[str, object] = {
        "n": int(paired["rows"].sum()),
        "n_unpaired": int(part.filter(~both)["rows"].sum()),
        "n_cells": paired.height,
        "n_descriptors": paired.select("axis", "bucket", "descriptor").n_unique() if paired.height else 0,
    }
    if paired.is_empty():
        return row
    sides = [_Side.of(paired, gender) for gender in (MALE, FEMALE)]
    weights = sides[0].n * sides[1].n / (sides[0].n + sides[1].n)
    male, female = (side.standardised(weights) for side in sides)
    difference = difference_of_rates(male, female)
    estimate, mean = float(difference.rate[0]), float(male.rate[0] + female.rate[0]) / 2
    p, deviation = _conditional_test(sides[0], sides[1], bool(paired["whole"].all()))
    reach = float(ndtri(1 - alpha / 2) + ndtri(POWER)) * deviation / float(weights.sum())
    return row | {
        "male": 100.0 * float(male.rate[0]),
        "female": 100.0 * float(female.rate[0]),
        "estimate": 100.0 * estimate,
        "low": 100.0 * float(difference.low[0]),
        "high": 100.0 * float(difference.high[0]),
        "relative": 100.0 * estimate / mean if mean > 0 else None,
        "p": p,
        "minimum_detectable": 100.0 * reach if deviation > 0 else None,
    }


@dataclass(frozen=True)
class _Side:
    """One gender in each cell: prompts, sum and sum of squares of their judgements, (cells,)."""

    n: Floats
    sums: Floats
    squares: Floats

    @classmethod
    def of(cls, paired: pl.DataFrame, gender: str) -> "_Side":
        return cls(*(paired[f"{name}_{gender}"].to_numpy() for name in ("n", "sum", "squares")))

    def standardised(self, weights: Floats) -> Limited:
        """The weighted mean of the cells' rates with Wilson's limits for as many outcomes as it is worth."""
        rate = float((weights * self.sums / self.n).sum() / weights.sum())
        freedom = float((self.n - 1).sum())
        within = float((self.squares - self.sums**2 / self.n).sum())
        scatter = within / freedom if freedom > 0 else 0.0
        binomial = rate * (1 - rate)
        # cells without any scatter of their own do not show that there is none
        shrunk = max(scatter / binomial, 0.05) if binomial > 0 and scatter > 0 else 1.0
        size = float(weights.sum() ** 2 / np.square(weights / np.sqrt(self.n)).sum()) / shrunk
        low, high = wilson_interval(rate * size, size, _LEVEL)
        return Limited(np.array([rate]), np.array([float(low)]), np.array([float(high)]))


def _conditional_test(male: _Side, female: _Side, whole: bool) -> tuple[float, float]:
    """Two-sided p of the male sum when the prompts of each cell are dealt at random, and its deviation."""
    n = male.n + female.n
    total = male.sums + female.sums
    scatter = male.squares + female.squares - total**2 / n
    variance = np.where(n > 1, male.n * female.n * scatter / (n * np.maximum(n - 1, 1)), 0.0)
    expected, observed = float((male.n * total / n).sum()), float(male.sums.sum())
    deviation = float(variance.sum()) ** 0.5
    informative = variance > 1e-12
    if not informative.any():
        return 1.0, deviation
    distance = abs(observed - expected)
    if whole and float(np.minimum(male.n, total)[informative].sum()) <= _EXACT_UP_TO:
        fixed = float(male.sums[~informative].sum())
        chance, least = _sum_of_draws(male.n[informative], female.n[informative], total[informative])
        sums = least + fixed + np.arange(len(chance))
        return min(1.0, float(chance[np.abs(sums - expected) >= distance - 1e-7].sum())), deviation
    # sums of whole judgements go in steps of 1: half a step towards the middle, as Mantel and Haenszel do
    step = 0.5 if whole else 0.0
    return float(min(1.0, 2 * ndtr(-max(distance - step, 0.0) / deviation))), deviation


def _sum_of_draws(first: Floats, second: Floats, negatives: Floats) -> tuple[Floats, float]:
    """Distribution of the sum of independent hypergeometric counts from its least value on."""
    from scipy.special import gammaln

    chance, least = np.ones(1), 0.0
    cells, copies = np.unique(np.stack([first, second, negatives]), axis=1, return_counts=True)
    for place, count in enumerate(copies):
        one, other, hits = (float(value) for value in cells[:, place])
        smallest = max(0.0, hits - other)
        k = np.arange(smallest, min(one, hits) + 1)
        log = -(gammaln(k + 1) + gammaln(one - k + 1) + gammaln(hits - k + 1) + gammaln(other - hits + k + 1))
        cell = np.exp(log - log.max())
        cell /= cell.sum()
        for _ in range(int(count)):
            chance = np.convolve(chance, cell)
        least += smallest * int(count)
    return chance, least


CARDS = (
    MeasureInfo.of(
        Card(
            name="noun_contrast",
            summary="Negative rate beside male nouns minus that beside female ones, within descriptors and templates.",
            construct="Whether the gender of the noun changes how a descriptor is spoken of.",
            harm=NEGATIVE_HARM,
            groups="Male and female nouns; axis, bucket, descriptor and template are held fixed.",
            ideal="0",
            direction="Above 0: worse about men; below: worse about women.",
            null="Prompts of each cell are dealt to the genders at random: 0.",
            critique=CLASSIFIER
            + "The nouns are taken as given: one odd noun ('dude') can make the difference.",
            citation=ROBBIE,
            source="Esiobu et al. 2023, appendix C.1.2 and Table 12",
            details=(
                "Mantel-Haenszel weights; conditional test, exact for small sums; limits by recovering variances. "
                "In 1,000 simulated contrasts without difference 4-5 % had p <= .05 and 95 % of intervals held 0."
            ),
        ),
        unit="percentage points",
        ideal=0.0,
    ),
)
