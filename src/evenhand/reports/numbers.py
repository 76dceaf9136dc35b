"""Convert a `ReportView` to plain data for `measurements.json`, for programs that do not read Parquet."""

from typing import Any

from evenhand.reports.view import BenchmarkView, ReportView
from evenhand.schema import as_json

FORMAT = 1
TABLES = ("groups", "axes", "maxima", "design", "interaction_gaps", "interaction_cells")
"""Detail tables that the file contains, for benchmarks of continuations and for the user's own responses."""


def measurement_numbers(view: ReportView) -> dict[str, Any]:
    """Return measurements, findings and manifest as plain data, as in measurements.json.

    Numbers that are NaN or infinite become null. Rows and columns keep the order of the tables, and the keys
    of the manifest are sorted. Equal views therefore give equal files.

    Examples
    --------
    >>> import polars as pl
    >>> from evenhand.schema import FINDINGS, MEASUREMENTS
    >>> empty = pl.DataFrame(schema=MEASUREMENTS), pl.DataFrame(schema=FINDINGS)
    >>> measurement_numbers(ReportView("m", {}, {}, *empty, ()))["title"]
    'm'
    """
    content: dict[str, Any] = as_json(
        {
            "format": FORMAT,
            "title": view.title,
            "alpha": view.alpha,
            "measurements": view.measurements.to_dicts(),
            "findings": view.findings.to_dicts(),
            "headlines": view.headlines.to_dicts(),
            "benchmarks": [_benchmark(benchmark) for benchmark in view.benchmarks],
            "model": as_json(view.model, ordered=True),
            "manifest": as_json(view.manifest, ordered=True),
        }
    )
    return content


def _benchmark(benchmark: BenchmarkView) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "name": benchmark.name,
        "n_prompts": benchmark.n_prompts,
        "n_errors": benchmark.n_errors,
        "card": benchmark.card.to_dict(),
    }
    if (written := benchmark.written) is None:
        return facts
    facts["written"] = {
        "n_prompts": written.n_prompts,
        "samples": written.samples,
        "decoding": written.decoding,
        "judges": [
            {
                "role": judge.role,
                "name": judge.name,
                "revision": judge.revision,
                "judged_text": judge.text,
                "negative": judge.threshold,
                "licence": judge.licence,
                "notice": judge.notice,
                "texts": judge.texts,
                "card": judge.card.to_dict() if judge.card else None,
            }
            for judge in written.classifiers
        ],
        "failures": written.failures.to_dicts(),
    }
    tables = {name: benchmark.detail(name) for name in TABLES}
    return facts | {name: table.to_dicts() for name, table in tables.items() if table is not None}
