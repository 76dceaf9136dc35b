"""Read and check the file of `--classifier-error`. A file without any measured group is rejected."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import polars as pl

from evenhand.benchmarks import Benchmark
from evenhand.measures import error_counts, of_role
from evenhand.prompts.own_files import read_table
from evenhand.schema import UsageError

EXPECTED = "Expected the columns group, false_alarms, n_harmless, hits, n_harmful, or group, label, negative."


def read_classifier_error(file: Path | str | None) -> pl.DataFrame | None:
    """Return counts of a classifier's errors by group (`evenhand.measures.error_counts`); None without a file.

    Raises DataError if the file cannot be read, or contains neither counts nor labelled texts.
    """
    return None if file is None else error_counts(read_table(Path(file).expanduser(), EXPECTED))


def check_error_groups(
    error: pl.DataFrame, frames: Mapping[str, pl.DataFrame], benchmarks: Iterable[Benchmark]
) -> None:
    """Raise UsageError if counts of errors name no group of any benchmark of continuations.

    `frames` has prompts or responses by benchmark. If they have no column group, groups are determined later, so the
    counts are accepted.
    """
    judged = [benchmark for benchmark in benchmarks if benchmark.classified_by]
    if not judged:
        raise UsageError(
            "`--classifier-error` has no effect here: no benchmark uses a classifier.",
            "Remove --classifier-error, or choose a benchmark of generated text.",
        )
    for benchmark in judged:
        frame = frames[benchmark.name]
        known = pl.concat([of_role(error, who.role) for who in benchmark.classified_by])["group"]
        if len(known) and (
            "group" not in frame.columns or known.null_count() or frame["group"].is_in(known).any()
        ):
            return
    named = error["group"].drop_nulls().unique().sort().to_list()
    raise UsageError(
        f"The table of classifier errors contains {', '.join(named[:6])}{', ...' if len(named) > 6 else ''}, but "
        "no benchmark has such a group or role.",
        "Write the groups as the benchmark does, or leave group empty for all groups.",
    )
