"""Changes of text quality: empty responses, length, repetition, diversity, stock answers, perplexity."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp, isfinite
from typing import Any

import polars as pl
from scipy.special import ndtr, ndtri

from evenhand.measures.changes import CHANGE
from evenhand.reports import decimals, known, label, number
from evenhand.studies.compare.changes import add_verdicts

LEVELS = dict.fromkeys(("before_low", "before_high", "after_low", "after_high"), pl.Float64)
"""Columns with the bounds of the 95% CI of each model's own value."""
QUALITY = {
    "benchmark": pl.String,
    "measure": pl.String,
    "scale": pl.String,  # scale of estimate, low and high: difference or ratio
    **{name: kind for name, kind in CHANGE.items() if name not in ("axis", "group")},
    **LEVELS,
}
"""Columns of the table of text quality: one row per benchmark and measure, in its own unit (percent, words,
perplexity).
"""
KEYS = ["prompt_id", "sample"]

SAME_ANSWER = "same_answer_share"
PERCENT = ("empty_rate", "refusal_rate", "repetition", SAME_ANSWER)
OF_RESPONSES = {
    "empty_rate": "empty",
    "refusal_rate": "refused",
    SAME_ANSWER: SAME_ANSWER,
    "response_length": "length",
    "repetition": "repetition",
    "longest_loop": "longest_loop",
}
DIVERSITY = ("distinct_2_at_budget", "distinct_3_at_budget")
MOST_GRAMS, FEWEST_GRAMS = 1000, 30
JUDGE_PERPLEXITY, OWN_PERPLEXITY, TEXT_PERPLEXITY = "judge_perplexity", "own_perplexity", "text_perplexity"


def quality_changes(
    benchmark: str, before: pl.DataFrame, after: pl.DataFrame, seed: int, cluster: str = "prompt_id"
) -> pl.DataFrame:
    """Return changes in the text quality of the continuations of one benchmark (QUALITY).

    Measures are those of `evenhand.measures.text_quality`. Measures of single responses are paired on prompt and
    sample. Perplexities are geometric means, and their change is a ratio. Diversity is a property of all texts,
    computed at the same number of n-grams for both models. Its CI combines the two intervals as if they were
    independent, so it is wide.

    Parameters
    ----------
    before, after
        Continuations of both models, as `evenhand.runs.answers` returns them.
    seed
        Random seed of the CIs.
    cluster
        Column whose equal values mark dependent rows.

    References
    ----------
    - Zou and Donner 2008, Statistics in Medicine 27:1693 (limits of a difference from those of its parts).
    """
    keys = list(dict.fromkeys([*KEYS, cluster]))
    sides = [_responses(frame, keys) for frame in (before, after)]
    joined = sides[0].join(sides[1].drop(cluster, strict=False) if cluster not in KEYS else sides[1], on=KEYS,
                           how="inner", suffix=" after", maintain_order="left")  # fmt: skip
    budget = _budget(sides)
    diversity = [_diversities(frame, cluster, budget, seed) for frame in (before, after)]
    rows: list[dict[str, Any]] = []
    for measure, column in {
        **OF_RESPONSES,
        JUDGE_PERPLEXITY: JUDGE_PERPLEXITY,
        OWN_PERPLEXITY: OWN_PERPLEXITY,
    }.items():
        if column not in joined.columns:
            continue
        frame = joined.select(*dict.fromkeys(["prompt_id", cluster]), before=column, after=f"{column} after")
        share = measure in PERCENT
        changed = overall_change(frame, seed, cluster, share=share)
        if changed is None:
            continue
        known = frame.drop_nulls(["before", "after"])
        rows.append(scaled_row(measure, changed | levels(known, seed, cluster, share=share)))
    rows += [row for measure in DIVERSITY if (row := _diversity(measure, diversity, budget)) is not None]
    return pl.DataFrame([{"benchmark": benchmark, **row} for row in rows], schema=QUALITY)


def _responses(frame: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    from evenhand.measures import given_the_commonest, response_qualities

    logs: dict[str, pl.Expr] = {}
    if {"log_likelihood", "token_count"} <= set(frame.columns):
        logs[OWN_PERPLEXITY] = -pl.col("log_likelihood").cast(pl.Float64) / pl.col("token_count").cast(
            pl.Float64
        )
    if "perplexity_score" in frame.columns:
        logs[JUDGE_PERPLEXITY] = pl.col("perplexity_score").log()
    finite = [pl.when(value.is_finite()).then(value).alias(name) for name, value in logs.items()]
    seen = response_qualities(frame).select(pl.all().cast(pl.Float64))
    same = given_the_commonest(frame).cast(pl.Float64).alias(SAME_ANSWER)
    return pl.concat([frame.select(*keys, *finite), seen.with_columns(same)], how="horizontal")


def scaled_row(measure: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of QUALITY in the unit in which it is reported.

    Shares become percentages, and differences of logarithms become ratios.
    """
    numbers = ("before", "after", "estimate", "low", "high", "minimum_detectable", *LEVELS)
    numbers = tuple(name for name in numbers if name in row)
    kept = {name: value for name, value in row.items() if name not in ("axis", "group")}
    if "perplexity" in measure:
        powers = {name: None if row[name] is None else exp(min(row[name], 700.0)) for name in numbers}
        # the difference of logarithms is a log ratio, so the relative change is the ratio minus 1
        return {"measure": measure, "scale": "ratio", **kept, **powers, "relative": powers["estimate"] - 1}  # type: ignore[operator]
    factor = 100.0 if measure in PERCENT else 1.0
    scaled = {name: None if row[name] is None else factor * row[name] for name in numbers}
    return {"measure": measure, "scale": "difference", **kept, **scaled}


@dataclass(frozen=True)
class _Level:
    estimate: float | None
    low: float | None
    high: float | None
    n: int
    n_missing: int


def _diversities(frame: pl.DataFrame, cluster: str, budget: int, seed: int) -> dict[str, _Level]:
    if not budget:
        return {}
    from evenhand.measures import text_quality

    asked = frame.drop("axis", "group", "perplexity", strict=False)
    table = text_quality(asked, cluster=cluster, budget=budget, seed=seed).quality
    names = ("measure", "estimate", "low", "high", "n", "n_missing")
    return {row[0]: _Level(*row[1:]) for row in table.select(names).iter_rows()}


def _budget(sides: list[pl.DataFrame]) -> int:
    """Return the number of n-grams of each model on which diversity is compared.

    It is the smaller number of both models, if that is large enough.
    """
    there = [int((side["length"].drop_nulls() - 2).clip(lower_bound=0).sum()) for side in sides]
    return min(MOST_GRAMS, *there) if min(there) >= FEWEST_GRAMS else 0


def _diversity(measure: str, found: list[dict[str, _Level]], budget: int) -> dict[str, Any] | None:
    before, after = (by_measure.get(measure) for by_measure in found)
    if before is None or after is None or before.estimate is None or after.estimate is None:
        return None
    change = after.estimate - before.estimate
    row = {
        "measure": measure,
        "scale": "difference",
        "before": before.estimate,
        "after": after.estimate,
        "estimate": change,
        "relative": change / before.estimate if before.estimate else None,
        "n": min(before.n, after.n),
        "n_missing": max(before.n_missing, after.n_missing),
        "before_low": before.low,
        "before_high": before.high,
        "after_low": after.low,
        "after_high": after.high,
    }
    if before.low is None or before.high is None or after.low is None or after.high is None:
        return row
    # If texts use all of a small vocabulary, leaving one text out changes nothing; counts still vary by chance.
    least = 2 * 100 * (max(before.estimate, after.estimate) / 100 * budget) ** 0.5 / budget
    down = max(least, ((after.estimate - after.low) ** 2 + (before.high - before.estimate) ** 2) ** 0.5)
    up = max(least, ((after.high - after.estimate) ** 2 + (before.estimate - before.low) ** 2) ** 0.5)
    # p is derived from the interval: the level at which its nearer bound would be at no change
    facing = down if change > 0 else up
    p = (
        1.0
        if change == 0
        else 0.0
        if facing <= 0
        else float(2 * ndtr(-(ndtri(0.975) * abs(change) / facing)))
    )
    return {**row, "low": change - down, "high": change + up, "p": p}


def levels(
    known: pl.DataFrame, seed: int, cluster: str = "prompt_id", *, share: bool | None = None
) -> dict[str, float | None]:
    """Return the bounds of separate 95% CIs of the means before and after (keys: LEVELS).

    Parameters
    ----------
    known
        Rows with the columns before and after, and a column whose equal values mark dependent rows.
    seed
        Random seed of the CIs.
    cluster
        Name of that column.
    share
        True if the values are labels or shares of labels. None: this is assumed if all are between 0 and 1.
    """
    from evenhand.stats import clustered_mean, clustered_proportion_interval

    found: dict[str, float | None] = {}
    for side in ("before", "after"):
        values, clusters = known[side].to_numpy(), known[cluster].to_numpy()
        within = values.min() >= 0 and values.max() <= 1
        limits = (
            clustered_proportion_interval(values, clusters)
            if (within if share is None else share)
            else clustered_mean(values, clusters, seed=seed)
        )
        for end, limit in (("low", limits.low), ("high", limits.high)):
            found[f"{side}_{end}"] = float(limit) if isfinite(limit) else None
    return found


def overall_change(
    frame: pl.DataFrame, seed: int, cluster: str = "prompt_id", *, share: bool | None = None
) -> dict[str, float | int | None] | None:
    """Return the change across all pairs, as a row of `paired_change`; None if no pair has both values.

    The parameters are those of `levels`.
    """
    from evenhand.measures import paired_change

    both = frame.filter(*(pl.col(side).cast(pl.Float64).is_finite() for side in ("before", "after")))
    if both.is_empty():
        return None
    whole = frame.drop("axis", "group", strict=False)
    table = paired_change(whole, cluster=cluster, share=share, seed=seed)
    return table.row(0, named=True)


def judged_texts(table: pl.DataFrame, alpha: float) -> pl.DataFrame:
    """Add q and verdict to the table QUALITY.

    The significance level is shared by all tests of the texts of one benchmark. Ratios are tested against 1.
    """
    parts = []
    for part in table.partition_by("benchmark", maintain_order=True):
        units = part.with_columns(
            null=pl.when(pl.col("scale") == "ratio").then(1.0).otherwise(0.0), n_units="n_prompts"
        )
        tests = int(part["p"].is_not_null().sum())
        parts.append(add_verdicts(units, alpha, n_axes=max(1, tests)))
    judged_rows = pl.concat(parts) if parts else add_verdicts(table, alpha)
    return judged_rows.select(*QUALITY, "q", "verdict")


TEXT_MEASURES = {
    "empty_rate": ("empty responses", "%"),
    "refusal_rate": ("refusals", "%"),
    "same_answer_share": ("identical responses", "%"),
    "response_length": ("length", "words and punctuation marks"),
    "repetition": ("repeated 4-grams", "%"),
    "longest_loop": ("longest loop", "tokens"),
    "distinct_2_at_budget": ("distinct bigrams", "%"),
    "distinct_3_at_budget": ("distinct trigrams", "%"),
    "judge_perplexity": ("perplexity under a second model", ""),
    "own_perplexity": ("perplexity of its own text", ""),
    "text_perplexity": ("perplexity of given texts", ""),
}
"""Names and units of the measures of text quality."""


def text_line(row: Mapping[str, Any]) -> str:
    """Return the change in one measure of the text, from a row of QUALITY."""
    name, unit = TEXT_MEASURES.get(row["measure"], (label(row["measure"]), ""))
    places = text_places(row)
    before, after = (number(row[side], places) for side in ("before", "after"))
    suffix = "%" if unit == "%" else f" {unit}" if unit else ""
    told = f"{name} from {before} to {after}{suffix}"
    if row.get("scale") != "ratio" or not known(row.get("low")):
        return told
    ratio, low, high = (number(row[side], 2) for side in ("estimate", "low", "high"))
    return f"{told} ({row['verdict']}: ×{ratio}, 95% CI {low} to {high})"


def text_places(row: Mapping[str, Any]) -> int:
    """Return the number of decimals for both values of a measure: one for rates, and if there is no value."""
    if row["measure"] in ("empty_rate", "refusal_rate") or not (row["before"] or row["after"]):
        return 1
    return decimals([row["before"], row["after"]])
