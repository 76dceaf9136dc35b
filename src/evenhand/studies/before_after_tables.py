"""The tables of a before/after study, from its two runs: harm, silence, text, and each run's own measures."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from evenhand.runs import RunDirectory, answers
from evenhand.studies.before_after_harm import (
    HARM,
    SILENCE,
    answered_pairs,
    harm_changes,
    silence_changes,
    with_verdicts,
)
from evenhand.studies.before_after_quality import QUALITY, quality_changes
from evenhand.studies.before_after_texts import QUALITY_BENCHMARK
from evenhand.studies.config import Analysis
from evenhand.studies.judges import MODEL_ROLE


def paired_tables(
    before: RunDirectory, after: RunDirectory, analysis: Analysis
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    harm, silence, quality = [], [], []
    for name in before.benchmarks:
        if name not in after.benchmarks or before.manifest.asked[name].decoding is None:
            continue
        first, second, outcomes = _with_outcomes(before, after, name)
        pairs = answered_pairs(first, second, outcomes)
        harm.append(harm_changes(name, pairs, outcomes, analysis.seed))
        silence.append(silence_changes(name, pairs, analysis.seed))
        alone = "group" not in first.columns and "cluster" in first.columns
        quality.append(
            quality_changes(name, first, second, analysis.seed, "cluster" if alone else "prompt_id")
        )
    return (
        _judged(harm, HARM, ["among"], analysis.alpha),
        _judged(silence, SILENCE, [pl.col("axis").is_null(), pl.col("group").is_null()], analysis.alpha),
        pl.concat(quality) if quality else pl.DataFrame(schema=QUALITY),
    )


def _with_outcomes(
    before: RunDirectory, after: RunDirectory, benchmark: str
) -> tuple[pl.DataFrame, pl.DataFrame, list[str]]:
    """Both models' answers with a column for each kind of harm, called by its role."""
    roles = [
        role
        for role in before.manifest.judged.get(benchmark, {})
        if role != MODEL_ROLE and role in after.manifest.judged.get(benchmark, {})
    ]
    frames = [answers(run, benchmark) for run in (before, after)]
    outcomes = {}
    for role in roles:
        # A classifier without verdicts gives scores alone; one side may be silent and have neither.
        judged = any(frame[f"{role}_negative"].null_count() < frame.height for frame in frames)
        outcomes[role] = pl.col(f"{role}_negative" if judged else f"{role}_score").cast(pl.Float64)
    first, second = (frame.with_columns(**outcomes) for frame in frames)
    return first, second, roles


def _judged(
    parts: list[pl.DataFrame], schema: Mapping[str, Any], family: list[Any], alpha: float
) -> pl.DataFrame:
    """One table with q within each family."""
    if not parts or not sum(part.height for part in parts):
        return pl.DataFrame(schema=schema)
    table = pl.concat(parts).with_row_index("_row").with_columns(_family=pl.struct(family))
    judged = [with_verdicts(part, alpha) for part in table.partition_by("_family", maintain_order=True)]
    return pl.concat(judged).sort("_row").select(pl.col(name).cast(kind) for name, kind in schema.items())


def measured_side_by_side(before: RunDirectory, after: RunDirectory) -> pl.DataFrame:
    """Each run's own measures side by side, over all and by axis, with their verdicts."""
    keys = ["benchmark", "measure", "axis"]
    sides = []
    for run in (before, after):
        verdicts = run.findings().filter(pl.col("group").is_null() & pl.col("stratum").is_null())
        rows = run.measurements().filter(pl.col("group").is_null() & pl.col("stratum").is_null())
        rows = rows.filter(pl.col("benchmark") != QUALITY_BENCHMARK)
        sides.append(
            rows.select(*keys, "unit", "null", "estimate", "low", "high", "n")
            .unique(keys, keep="first", maintain_order=True)
            .join(verdicts.select(*keys, "verdict").unique(keys, keep="first"), on=keys, how="left",
                  nulls_equal=True, maintain_order="left")
        )  # fmt: skip
    joined = sides[0].join(
        sides[1].drop("unit"), on=keys, how="inner", nulls_equal=True, suffix="_after", maintain_order="left"
    )
    return joined.rename(
        {name: f"{name}_before" for name in ("null", "estimate", "low", "high", "n", "verdict")}
    )
