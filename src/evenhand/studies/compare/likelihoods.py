"""Comparison of likelihoods of two models: paired by text, tested with the benchmark's procedure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from evenhand.schema import EvenhandError, Measurement, measurement_frame
from evenhand.studies.compare.changes import CHANGES, add_verdicts, as_changes

SUFFIX = "_change"
PARTS = ("_spread", "_shift", "_contrast")
"""Suffixes that distinguish the measures of one quantity, such as its spread in an axis and the shift of a group."""


def likelihood_changes(
    name: str,
    first: pl.DataFrame,
    other: pl.DataFrame,
    *,
    model: str,
    architectures: Sequence[str],
    alpha: float,
    seed: int,
    note: Callable[[str], None],
) -> pl.DataFrame | None:
    """Return the changes of one likelihood benchmark (columns: CHANGES); None if they cannot be computed.

    All values are computed on the prompts that both models have.

    Parameters
    ----------
    name
        Name of the benchmark.
    first, other
        Prompts with the likelihoods of the first model and of the other model.
    model
        Name of the other model.
    architectures
        Architectures of the models, such as masked. Different architectures score prompts differently, so they are not
        compared.
    alpha, seed
        Significance level, and random seed of the tests.
    note
        Called with a sentence on why changes cannot be computed, or on what was left out.
    """
    from evenhand.benchmarks import AnalysisOptions, load_benchmark

    try:
        benchmark = load_benchmark(name)
    except EvenhandError as error:
        note(f"{name} cannot be compared: {error}")
        return None
    if benchmark.changes is None:
        note(f"{name}: likelihoods of this benchmark are not compared; see the report of each run.")
        return None
    if len(set(architectures)) > 1:
        note(
            f"{name}: {' and '.join(architectures)} models score sentences differently and are not compared."
        )
        return None
    shared = first.select("prompt_id", "text").join(
        other.select("prompt_id", "text"), on=["prompt_id", "text"]
    )
    if shared.is_empty():
        note(f"{name}: the two models share no sentence, so they cannot be compared.")
        return None
    if alone := max(first.height, other.height) - shared.height:
        note(f"{name}: {alone:,} sentences exist for one model only, or differ, and are left out.")
    before, after = (
        frame.join(shared, on=["prompt_id", "text"], how="semi", maintain_order="left").sort(
            "prompt_id", maintain_order=True
        )
        for frame in (first, other)
    )
    n_axes = benchmark.count_axes(before)
    options = AnalysisOptions(seed=seed, alpha=alpha, n_axes=n_axes)
    if architectures and architectures[0] == "masked":
        options = replace(options, architecture="masked")
    rows = [row for row in benchmark.changes(before, after, options) if row.stratum is None]
    if not rows:
        note(f"{name} is descriptive: it gives no verdicts, so its changes have no verdicts either.")
        return None
    harmful = {measure + SUFFIX: side for measure, side in benchmark.harmful.items()}
    table = add_verdicts(measurement_frame(rows), alpha, n_axes=n_axes, harmful=harmful)
    values = [_values(benchmark.analyse(frame, options).measurements) for frame in (before, after)]
    keys = [_key(row) for row in rows]
    stated = [pl.Series(side, [found.get(key) for key in keys], dtype=pl.Float64)
              for side, found in zip(("before", "after"), values, strict=True)]  # fmt: skip
    judged_as = {row.axis: row.measure for row in rows if row.p is not None or row.obstacle is not None}
    named = [row.measure if row.group else judged_as.get(row.axis, row.measure) for row in rows]
    outcomes = pl.Series("outcome", [_outcome(name) for name in named], dtype=pl.String)
    done = as_changes(table.with_columns(*stated, outcomes), benchmark=name, model=model)
    return done.select(pl.col(column).cast(kind) for column, kind in CHANGES.items())


def _key(row: Measurement) -> tuple[Any, ...]:
    return row.measure.removesuffix(SUFFIX), row.axis, row.group


def _values(rows: Sequence[Measurement]) -> Mapping[tuple[Any, ...], float | None]:
    return {_key(row): row.estimate for row in rows if row.stratum is None}


def _outcome(measure: str) -> str:
    """Return the outcome to which a measure belongs. The spread and the shifts of one quantity have the same one."""
    name = measure.removesuffix(SUFFIX)
    return next((name.removesuffix(part) for part in PARTS if name.endswith(part)), name)
