"""Costs of a mitigation other than the quality of its responses: perplexity of given texts, speed and memory."""

from collections.abc import Mapping

import polars as pl

from evenhand.runs import RunDirectory
from evenhand.studies.compare import QUALITY, levels, overall_change, scaled_row

LIMITS = ("before_low", "before_high", "after_low", "after_high")
COST = {
    **{"measure": pl.String, "unit": pl.String, "before": pl.Float64, "after": pl.Float64, "note": pl.String},
    **dict.fromkeys(LIMITS, pl.Float64),  # null if a run was timed once
}
TEXT_PERPLEXITY = "text_perplexity"


def text_perplexity_change(texts: pl.DataFrame, name: str, seed: int) -> pl.DataFrame:
    """Return the change in the perplexity of given texts (columns: QUALITY).

    The perplexity is a geometric mean over texts, and the change is a ratio. There is one row, or none if no text has a
    likelihood under both models.

    Parameters
    ----------
    texts
        cluster; before and after (sums of natural-log likelihoods, null or infinite if they failed); tokens (number of
        tokens of the model without mitigations, which is used for both models so that they are comparable).
    name
        Name of the texts.
    seed
        Random seed of the CIs.
    """
    each = {side: -pl.col(side) / pl.col("tokens") for side in ("before", "after")}
    nats = texts.select("cluster", *(pl.when(v.is_finite()).then(v).alias(side) for side, v in each.items()))
    changed = overall_change(nats, seed, "cluster", share=False)
    if changed is None:
        return pl.DataFrame(schema=QUALITY)
    limits = levels(nats.drop_nulls(["before", "after"]), seed, "cluster", share=False)
    row = scaled_row(TEXT_PERPLEXITY, changed | limits)
    return pl.DataFrame([{"benchmark": name, **row}], schema=QUALITY)


def run_costs(before: RunDirectory, after: RunDirectory, *, same_process: bool) -> pl.DataFrame:
    """Return time per step, throughput and memory of two runs, from their manifests (COST).

    `same_process` is True if one process ran both. The peak memory of the second run then includes that of the first,
    because the peak of a process never falls, and a note states this.
    """
    first, second = (_cost(run) for run in (before, after))
    peak = "Peak memory of the process; that of the second run includes the first." if same_process else ""
    units = {
        "latency": ("ms a step", ""),
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
    stated = generation if isinstance(generation, Mapping) else {}
    peak, step = stated.get("peak_memory_bytes"), stated.get("seconds_per_step")
    known = tokens > 0 and seconds > 0
    return {
        "latency": 1000 * step if isinstance(step, int | float) else None,
        "throughput": tokens / seconds if known else None,
        "peak_memory": float(peak) if isinstance(peak, int | float) else None,
    }
