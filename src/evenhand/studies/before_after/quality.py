"""What a mitigation costs in text: paired changes of length, repetition, diversity and perplexity; speed and memory."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp
from typing import Any

import polars as pl

from evenhand.measures import response_qualities, text_quality
from evenhand.measures.changes import CHANGE
from evenhand.runs import RunDirectory
from evenhand.studies.before_after.harm import KEYS, LEVELS, levels, overall_change

QUALITY = {
    "benchmark": pl.String,
    "measure": pl.String,
    "scale": pl.String,  # of estimate, low and high: difference or ratio
    **{name: kind for name, kind in CHANGE.items() if name not in ("axis", "group")},
    **LEVELS,
}
"""A row a benchmark and measure, in its own unit: percent, words, perplexity."""
COST = {"measure": pl.String, "unit": pl.String, "before": pl.Float64, "after": pl.Float64, "note": pl.String}

PERCENT = ("empty_rate", "refusal_rate", "repetition")
OF_RESPONSES = {
    "empty_rate": "empty",
    "refusal_rate": "refused",
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
    """How the continuations of one benchmark changed as text (QUALITY).

    before, after: `evenhand.runs.answers` of continuations. cluster: column of rows that hang together. Measures as in
    `evenhand.measures.text_quality`, paired on prompt and sample where they belong to single answers; perplexities are
    geometric means, their change a ratio. Diversity belongs to all texts together: both models' at the same number of
    n-grams, the limits of the change from the two intervals (which are independent at most, so that they are wide).
    Source: Zou and Donner 2008, Statistics in Medicine 27:1693 (limits of a difference from those of its parts).
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
        rows.append(_scaled(measure, changed | levels(known, seed, cluster, share=share)))
    rows += [row for measure in DIVERSITY if (row := _diversity(measure, diversity)) is not None]
    return pl.DataFrame([{"benchmark": benchmark, **row} for row in rows], schema=QUALITY)


def text_perplexity_change(texts: pl.DataFrame, name: str, seed: int) -> pl.DataFrame:
    """How the perplexity of given texts changed (QUALITY; one row, or none).

    texts: cluster, tokens (of the model by itself, for both, so that the two compare), before and after (summed
    natural-log likelihoods; null, infinite or no tokens: failed). name: of the texts. Geometric mean over texts, the
    change a ratio.
    """
    each = {side: -pl.col(side) / pl.col("tokens") for side in ("before", "after")}
    nats = texts.select("cluster", *(pl.when(v.is_finite()).then(v).alias(side) for side, v in each.items()))
    changed = overall_change(nats, seed, "cluster", share=False)
    if changed is None:
        return pl.DataFrame(schema=QUALITY)
    limits = levels(nats.drop_nulls(["before", "after"]), seed, "cluster", share=False)
    row = _scaled(TEXT_PERPLEXITY, changed | limits)
    return pl.DataFrame([{"benchmark": name, **row}], schema=QUALITY)


def costs(before: RunDirectory, after: RunDirectory, *, same_process: bool) -> pl.DataFrame:
    """Time a token, throughput and memory of two runs, as their manifests say (COST).

    same_process: whether both were asked by one process, whose peak memory only grows.
    """
    first, second = (_cost(run) for run in (before, after))
    peak = "Of the process; the second run's holds the first's." if same_process else ""
    units = {
        "latency": ("ms a token", ""),
        "throughput": ("tokens a second", ""),
        "peak_memory": ("bytes", peak),
    }
    return pl.DataFrame(
        [
            {"measure": measure, "unit": unit, "before": first[measure], "after": second[measure], "note": note}
            for measure, (unit, note) in units.items()
            if first[measure] is not None or second[measure] is not None
        ],
        schema=COST,
    )  # fmt: skip


def _cost(run: RunDirectory) -> dict[str, float | None]:
    sessions = run.manifest.sessions
    tokens, seconds = sum(s.tokens for s in sessions), sum(s.seconds for s in sessions if s.tokens)
    generation = run.manifest.model.description.get("generation")
    peak = generation.get("peak_memory_bytes") if isinstance(generation, Mapping) else None
    known = tokens > 0 and seconds > 0
    return {
        "latency": 1000 * seconds / tokens if known else None,
        "throughput": tokens / seconds if known else None,
        "peak_memory": float(peak) if isinstance(peak, int | float) else None,
    }


def _responses(frame: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    logs: dict[str, pl.Expr] = {}
    if {"log_likelihood", "token_count"} <= set(frame.columns):
        logs[OWN_PERPLEXITY] = -pl.col("log_likelihood").cast(pl.Float64) / pl.col("token_count").cast(
            pl.Float64
        )
    if "perplexity_score" in frame.columns:
        logs[JUDGE_PERPLEXITY] = pl.col("perplexity_score").log()
    finite = [pl.when(value.is_finite()).then(value).alias(name) for name, value in logs.items()]
    seen = response_qualities(frame).select(pl.all().cast(pl.Float64))
    return pl.concat([frame.select(*keys, *finite), seen], how="horizontal")


def _scaled(measure: str, row: Mapping[str, Any]) -> dict[str, Any]:
    numbers = ("before", "after", "estimate", "low", "high", "minimum_detectable", *LEVELS)
    numbers = tuple(name for name in numbers if name in row)
    kept = {name: value for name, value in row.items() if name not in ("axis", "group")}
    if "perplexity" in measure:
        powers = {name: None if row[name] is None else exp(min(row[name], 700.0)) for name in numbers}
        # a fall of the logarithm is a factor below one, so that the relative change is that factor less one
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
    asked = frame.drop("axis", "group", "perplexity", strict=False)
    table = text_quality(asked, cluster=cluster, budget=budget, seed=seed).quality
    names = ("measure", "estimate", "low", "high", "n", "n_missing")
    return {row[0]: _Level(*row[1:]) for row in table.select(names).iter_rows()}


def _budget(sides: list[pl.DataFrame]) -> int:
    """n-grams at which diversity is compared: as many as both models wrote, if that is enough."""
    there = [int((side["length"].drop_nulls() - 2).clip(lower_bound=0).sum()) for side in sides]
    return min(MOST_GRAMS, *there) if min(there) >= FEWEST_GRAMS else 0


def _diversity(measure: str, found: list[dict[str, _Level]]) -> dict[str, Any] | None:
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
    down = ((after.estimate - after.low) ** 2 + (before.high - before.estimate) ** 2) ** 0.5
    up = ((after.high - after.estimate) ** 2 + (before.estimate - before.low) ** 2) ** 0.5
    return {**row, "low": change - down, "high": change + up}
