"""Runs as sources: which runs a folder contains, the names of their models, and the properties of each text."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.annotation.building.built import ContentSelection, Value
from evenhand.runs import RunDirectory, written_benchmarks
from evenhand.schema import DataError, is_folder

NO_GROUPS = frozenset(
    {
        "request_id",
        "text",
        "context",
        "continuation",
        "finish",
        "log_likelihood",
        "token_count",
        "error",
        "detail",
    }
    | {"cluster", "start_token", "span_start", "span_end", "lines_before", "persona_a", "persona_b"}
)
"""Columns that do not describe the group that a text is about."""
JUDGED_PARTS = ("label", "score", "negative", "scores", "error")


def open_runs(folder: Path) -> list[RunDirectory] | None:
    """Return the run in a folder, or the two of a before/after study; None if there is neither."""
    if RunDirectory.is_run(folder):
        return [RunDirectory.open(folder)]
    both = [folder / side for side in ("before", "after")]
    if all(RunDirectory.is_run(side) for side in both):
        return [RunDirectory.open(side) for side in both]
    if is_folder(folder) and RunDirectory.is_run(folder / "before"):
        raise DataError(
            f"{folder} is an unfinished before-after study: the run after mitigation is missing.",
            f"Resume the study first: evenhand before-after {folder}",
        )
    return None


def model_names(runs: Sequence[RunDirectory]) -> list[str]:
    """Return distinct names for the models of runs: name, mitigations, and if necessary the folder."""
    names = []
    for run in runs:
        named = run.manifest.arguments_resolved.get("model") or run.manifest.model.fingerprint.get("name")
        parts = [str(named or run.path.name), *(mitigation.words for mitigation in run.manifest.mitigations)]
        names.append(" + ".join(parts))
    times = Counter(names)
    return [
        name if times[name] == 1 else f"{name} ({run.path.name})"
        for name, run in zip(names, runs, strict=True)
    ]


def talks(run: RunDirectory, wanted: ContentSelection) -> bool:
    """Return whether everything that is wanted of a run are conversations."""
    return all(
        run.manifest.asked[benchmark].turns is not None for benchmark in select_benchmarks(run, wanted)
    )


def select_benchmarks(run: RunDirectory, wanted: ContentSelection) -> list[str]:
    """Return the benchmarks whose texts are wanted. Raise DataError if the model generated none."""
    there = written_benchmarks(run)
    if wanted.benchmark is not None and wanted.benchmark not in there:
        raise DataError(
            f"The run {run.path} has no texts of {wanted.benchmark!r}.",
            f"Benchmarks with texts: {', '.join(there) or 'none'}.",
        )
    if not there:
        raise DataError(
            f"The run {run.path} has no generated text, only likelihoods, so there is nothing for annotators to "
            "judge.",
            "Audit with a benchmark of generated text: evenhand audit MODEL -b regard",
        )
    return there if wanted.benchmark is None else [wanted.benchmark]


def group_columns(frame: pl.DataFrame, run: RunDirectory, benchmark: str) -> list[str]:
    """Return the columns of responses that describe the group of a text, or identify it."""
    roles = run.manifest.judged.get(benchmark, {})
    judged = {f"{role}_{part}" for role in roles for part in JUDGED_PARTS}
    return [name for name in frame.columns if name not in NO_GROUPS | judged]


def iterate_groups(
    frame: pl.DataFrame, columns: Sequence[str], benchmark: str, mitigated: str | None
) -> Iterator[dict[str, Value]]:
    """Yield the properties by which the analysis may split each row: benchmark, mitigation and
    columns, lists as text.
    """
    always: dict[str, Value] = {"benchmark": benchmark}
    if mitigated is not None:
        always["mitigation"] = mitigated
    plain = frame.select(
        pl.col(name).list.eval(pl.element().cast(pl.String)).list.join(", ")
        if isinstance(frame.schema[name], pl.List)
        else pl.col(name)
        for name in columns
        if not isinstance(frame.schema[name], (pl.Struct, pl.Array, pl.Object))
    )
    if not plain.width:
        yield from ({**always} for _ in range(frame.height))
        return
    for row in plain.iter_rows(named=True):
        yield always | {name: _value(value) for name, value in row.items()}


def _value(value: Any) -> Value:
    return value if isinstance(value, str | bool | None) else float(value)
