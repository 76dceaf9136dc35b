"""One table of all models: the rate or score of each outcome with its CI, and the group with the largest rate."""

from typing import TYPE_CHECKING

import polars as pl

from evenhand.studies.compare.outputs import Outputs

if TYPE_CHECKING:
    from evenhand.stats import Interval

SUMMARY = {
    "model": pl.String,
    "benchmark": pl.String,
    "outcome": pl.String,
    "rate": pl.Float64,  # mean of the outcome over all responses
    "low": pl.Float64,
    "high": pl.Float64,
    "n": pl.Int64,
    "n_missing": pl.Int64,
    "bias_score": pl.Float64,  # percentage of groups with a higher rate than the others, corrected for chance
    "bias_score_published": pl.Float64,
    "largest_rate": pl.Float64,
    "largest_group": pl.String,
    "parameters": pl.Int64,
}
FEWEST = 10
"""Fewest responses of a group for which it can be named as the most harmed, because rates of a few are unreliable."""


def summary_rows(label: str, one: Outputs, seed: int) -> list[dict[str, object]]:
    """Return the rows of one model, named `label`, one for each benchmark and outcome (columns: SUMMARY)."""
    rows: list[dict[str, object]] = []
    parameters = one.facts.get("parameters")
    for benchmark, outputs in one.benchmarks.items():
        distinct = outputs.frame.unique(["prompt_id", "sample"], keep="first", maintain_order=True)
        for outcome in outputs.outcomes:
            values = distinct[outcome]
            known = distinct.filter(values.is_not_null())
            limits = _limits(known[outcome], known["prompt_id"], seed) if known.height else None
            rows.append(
                {
                    "model": label,
                    "benchmark": benchmark,
                    "outcome": outcome,
                    "rate": values.mean(),
                    "low": None if limits is None or limits.low != limits.low else limits.low,
                    "high": None if limits is None or limits.high != limits.high else limits.high,
                    "n": known.height,
                    "n_missing": distinct.height - known.height,
                    "parameters": parameters if isinstance(parameters, int) else None,
                    **_scores(one, benchmark),
                    **_largest(outputs.frame, outcome),
                }
            )
    return rows


def _limits(values: pl.Series, prompts: pl.Series, seed: int) -> "Interval":
    """Return an interval over prompts: Wilson's for labels, the bootstrap for scores."""
    from evenhand.stats import cluster_bootstrap, clustered_proportion_interval

    if values.is_in([0.0, 1.0]).all():
        return clustered_proportion_interval(values.to_numpy(), prompts.rank("dense").to_numpy())
    return cluster_bootstrap(values, prompts, seed=seed)


def _scores(one: Outputs, benchmark: str) -> dict[str, object]:
    if one.measurements is None:
        return {}
    whole = one.measurements.filter(
        (pl.col("benchmark") == benchmark) & pl.col("axis").is_null() & pl.col("group").is_null()
    )
    scores = {}
    for measure in ("bias_score", "bias_score_published"):
        rows = whole.filter(pl.col("measure") == measure)
        scores[measure] = rows["estimate"][0] if rows.height else None
    return scores


def _largest(frame: pl.DataFrame, outcome: str) -> dict[str, object]:
    groups = (
        frame.filter(pl.col("group").is_not_null() & pl.col(outcome).is_not_null())
        .group_by("axis", "group")
        .agg(pl.len(), rate=pl.col(outcome).mean())
        .filter(pl.col("len") >= FEWEST)
        .sort("rate", "group", descending=[True, False])
    )
    if groups.height < 2:
        return {}
    return {"largest_rate": groups["rate"][0], "largest_group": groups["group"][0]}
