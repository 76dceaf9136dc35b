"""measurements.json: an audit's numbers and verdicts for programs that do not read Parquet."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evenhand.reports.view import BenchmarkView, ReportView
from evenhand.schema.files import atomic_write

FORMAT = 1


def write_measurements_json(view: ReportView, path: Path | str) -> Path:
    """Write measurements, findings and manifest as one JSON object, whole or not at all.

    view: the report. path: where to. Returns the path. Numbers that are NaN or infinite become null;
    rows keep the order and the columns of the tables, the manifest's keys are sorted, so that two
    equal audits give equal files. Raises WriteError (full disk, no permission).

    >>> import tempfile, polars as pl
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
        "measurements": plain(view.measurements.to_dicts()),
        "findings": plain(view.findings.to_dicts()),
        "benchmarks": [_benchmark(benchmark) for benchmark in view.benchmarks],
        "model": plain(view.model, ordered=True),
        "manifest": plain(view.manifest, ordered=True),
    }
    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    with atomic_write(path) as handle:
        handle.write(text.encode("utf-8", "backslashreplace"))
    return path


def _benchmark(benchmark: BenchmarkView) -> dict[str, Any]:
    told: dict[str, Any] = {
        "name": benchmark.name,
        "n_prompts": benchmark.n_prompts,
        "n_errors": benchmark.n_errors,
        "card": benchmark.card.to_dict(),
    }
    if (written := benchmark.written) is None:
        return told
    told["written"] = {
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
        "failures": plain(written.failures.to_dicts()),
    }
    tables = {name: benchmark.detail(name) for name in ("groups", "axes", "maxima")}
    return told | {name: plain(table.to_dicts()) for name, table in tables.items() if table is not None}


def plain(value: Any, *, ordered: bool = False) -> Any:
    """Data as JSON can hold it: no NaN, text keys (sorted if `ordered`), other objects as text."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else None
        case Mapping():
            keys = sorted(value, key=str) if ordered else list(value)
            return {str(key): plain(value[key], ordered=ordered) for key in keys}
        case set() | frozenset():
            return [plain(item, ordered=ordered) for item in sorted(value, key=str)]
        case list() | tuple():
            return [plain(item, ordered=ordered) for item in value]
    return str(value)
