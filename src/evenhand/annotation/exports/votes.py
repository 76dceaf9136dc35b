"""Exports: written from a store, and read again as a table and the definition beside it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from evenhand.annotation.definition import Study
from evenhand.annotation.quality import excluded
from evenhand.schema import VOTES, DataError, checked, read_votes, write_votes

if TYPE_CHECKING:
    from evenhand.annotation.store import Store

BATCH = 200
"""Rows made into a table at once; meanwhile nothing else of the process runs, not even a page for somebody else."""


@dataclass(frozen=True)
class Export:
    """People's answers, and what is known of the study they belong to."""

    votes: pl.DataFrame
    """VOTES, `excluded` filled in."""
    study: Mapping[str, Any]
    """The definition without items: questions, rules, seed, survey, assignment; {} where a CSV brought none."""
    path: Path


@checked
def write_export(store: "Store", path: Path | str) -> Path:
    """Write all answers to .jsonl (first line: the study), .csv or .parquet; whole or not at all, returns the path.

    store: of the study; its rules fill in `excluded`. Texts of a CSV that a spreadsheet would take for formulas have
    an apostrophe in front, which `read_export` takes away. Raises UsageError for another ending, WriteError.
    """
    from evenhand.annotation.store import administration

    return write_answers(administration.votes(store), store.study, path)


def write_answers(rows: Iterable[Mapping[str, Any]], study: Study, path: Path | str) -> Path:
    """As `write_export`, of rows that come from anywhere. rows: of VOTES, taken one after another."""
    one_by_one, frames = iter(rows), []
    while batch := list(islice(one_by_one, BATCH)):
        try:
            frames.append(pl.DataFrame(batch, schema=VOTES))
        except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError) as error:
            raise DataError(
                f"Some judgements of {study.name} have the wrong type.",
                "The database was changed by another program, or is damaged. Restore a backup.",
            ) from error
    votes = pl.concat(frames) if frames else pl.DataFrame(schema=VOTES)
    return write_votes(path, excluded(votes, study.rules), described(study))


def read_export(path: Path | str) -> Export:
    """Read what `write_export` wrote. Raises DataError with the line for what it is not."""
    path = Path(path).expanduser()
    votes, header = read_votes(path)
    return Export(votes, header.get("study", {}), path)


def described(study: Study) -> dict[str, Any]:
    """A study as the first line of an export has it: without items, and without what the last page gives away."""
    return study.model_dump(
        mode="json", exclude={"items": True, "completion": True, "onboarding": {"items"}, "hidden": {"gold"}}
    )
