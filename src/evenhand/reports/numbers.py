"""measurements.json: an audit's numbers and verdicts for programs that do not read Parquet."""

from pathlib import Path
from typing import Any

from evenhand.reports.view import BenchmarkView, ReportView
from evenhand.schema import as_json, write_json

FORMAT = 1


def write_measurements_json(view: ReportView, path: Path | str) -> Path:
    """Write measurements, findings and manifest as one JSON object, whole or not at all.

    view: the report. path: where to. Returns the path. Numbers that are NaN or infinite become null;
    rows keep the order and the columns of the tables, the manifest's keys are sorted, so that two
    equal audits give equal files. Raises WriteError (full disk, no permission).

    >>> import json, tempfile, polars as pl
    >>> from evenhand.schema import FINDINGS, MEASUREMENTS
    >>> empty = pl.DataFrame(schema=MEASUREMENTS), pl.DataFrame(schema=FINDINGS)
    >>> target = Path(tempfile.mkdtemp()) / "measurements.json"
    >>> json.loads(write_measurements_json(ReportView("m", {}, {}, *empty, ()), target).read_text())["title"]
    'm'
    """
    path = Path(path)
    content = {
        "format": FORMAT,
        "title": view.title,
        "alpha": view.alpha,
        "measurements": view.measurements.to_dicts(),
        "findings": view.findings.to_dicts(),
        "benchmarks": [_benchmark(benchmark) for benchmark in view.benchmarks],
        "model": as_json(view.model, ordered=True),
        "manifest": as_json(view.manifest, ordered=True),
    }
    return write_json(path, content)


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
            for judge in written.judges
        ],
        "failures": written.failures.to_dicts(),
    }
    tables = {name: benchmark.detail(name) for name in ("groups", "axes", "maxima")}
    return facts | {name: table.to_dicts() for name, table in tables.items() if table is not None}
