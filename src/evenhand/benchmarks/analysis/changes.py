"""Measure what changed between two models, from their likelihoods of the same sentences."""

from collections.abc import Callable
from dataclasses import replace

import polars as pl

from evenhand.benchmarks.contract import Analysis, AnalysisOptions
from evenhand.schema import Measurement

SUFFIX = "_change"


def changes_of_likelihoods(
    analyse: Callable[[pl.DataFrame, AnalysisOptions], Analysis],
) -> Callable[[pl.DataFrame, pl.DataFrame, AnalysisOptions], list[Measurement]]:
    """Return a function that applies an analysis to the change from one model to another.

    Only rows with verdicts are returned. `analyse` must have measures that are linear in log-likelihoods,
    such as a valence shift. The change of such a measure is the same measure of the differences, sentence by
    sentence. Its test, CI and MDE apply to the differences. A spread becomes the spread of the changes, which
    is 0 if all groups changed equally. Source: Miller 2024, arXiv:2411.00640, section 4 (paired differences).
    """

    def analyse_change(
        before: pl.DataFrame, after: pl.DataFrame, options: AnalysisOptions
    ) -> list[Measurement]:
        change = after["log_likelihood"].cast(pl.Float64) - before["log_likelihood"].cast(pl.Float64)
        # only descriptive rows depend on the perplexities, and these rows are dropped, so one model's values are enough
        rows = analyse(before.with_columns(log_likelihood=change), options).measurements
        judged = (row for row in rows if row.p is not None or row.obstacle is not None)
        return [replace(row, measure=row.measure + SUFFIX) for row in judged]

    return analyse_change
