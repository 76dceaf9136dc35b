"""One benchmark's share of a report, from its answers, detail tables and judged measurements."""

from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from evenhand.benchmarks.registry import load_benchmark
from evenhand.reports.view import BenchmarkView
from evenhand.reports.written import written_view
from evenhand.runs import Manifest

GROUP_MEASURES = {
    "descriptors": ("descriptor_log_ratio",),
    "valence": ("valence_shift", "humanising_contrast"),
}
"""Detail tables whose rows are tests, and the measures they are rows of."""


def benchmark_view(
    name: str,
    responses: pl.DataFrame,
    details: Mapping[str, pl.DataFrame],
    measurements: pl.DataFrame,
    own_file: str | None = None,
    *,
    manifest: Manifest | None = None,
    decoding: str = "",
) -> BenchmarkView:
    """What a report shows of a benchmark.

    responses: one row an answer, with `error` and, of continuations, an error for each role that judged.
    own_file: where the prompts or responses are the user's own, what to call them. manifest: of the run, if there
    is one. decoding: how continuations were written, and why so.
    """
    benchmark = load_benchmark(name)
    card = benchmark.card
    if own_file is not None:
        card = replace(card, summary=f"{own_file}, measured as {name}.")
    axis = pl.col("axis") if "axis" in responses.columns else pl.lit("all").alias("axis")
    steps = ["error", *(f"{judge.role}_error" for judge in benchmark.judges)]
    error = pl.coalesce([step for step in steps if step in responses.columns]).alias("error")
    errors = (
        responses.select(axis, error)
        .filter(pl.col("error").is_not_null())
        .group_by("axis", "error")
        .agg(pl.len().alias("count"))
        .sort("axis", "error")
    )
    return BenchmarkView(
        name=name,
        card=card,
        details={key: _judged(key, table, measurements) for key, table in details.items()},
        n_prompts=responses.height,
        n_errors=int(errors["count"].sum()),
        errors=errors,
        written=written_view(benchmark, responses, manifest, decoding),
    )


def _judged(detail: str, table: pl.DataFrame, measurements: pl.DataFrame) -> pl.DataFrame:
    """A detail table with the q of the findings: one family of tests wherever a reader looks."""
    if detail not in GROUP_MEASURES or "q" not in table.columns:
        return table
    judged = measurements.filter(
        pl.col("measure").is_in(GROUP_MEASURES[detail]) & pl.col("group").is_not_null()
    ).select("axis", "q", descriptor="group")
    return table.drop("q").join(judged, on=["axis", "descriptor"], how="left", maintain_order="left")
