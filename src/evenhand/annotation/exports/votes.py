"""Exports of judgements: written from a store, and read as a table with the definition of the study."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from evenhand.annotation.definition import Study
from evenhand.annotation.quality import apply_rules
from evenhand.schema import VOTES, DataError, checked, read_votes, write_votes

if TYPE_CHECKING:
    from evenhand.annotation.store import Store

BATCH = 200
"""Number of rows that are converted at a time. Meanwhile, the process serves no pages."""


@dataclass(frozen=True)
class Export:
    """Exported human judgements with the definition of their study; the result of `read_export`."""

    votes: pl.DataFrame
    """One row per judgement (columns: VOTES). `excluded` is filled in."""
    study: Mapping[str, Any]
    """The definition without items: questions, rules, seed, survey, assignment; {} if a CSV has none."""
    path: Path


@checked
def write_export(store: "Store", path: Path | str) -> Path:
    """Write all human judgements of a study to a file.

    Use it at the end of an evaluation, or during it to look at intermediate results. `analyse` reads the
    file.

    Parameters
    ----------
    store : Store
        The database of the study.
    path : path or str
        A file that ends in .jsonl (its first line is the study), .csv or .parquet.

    Returns
    -------
    Path
        The path of the file. The file appears only when it is complete.

    Raises
    ------
    UsageError
        The path has another ending.
    WriteError
        The file cannot be written.

    Notes
    -----
    The rules of the study fill in the column `excluded`. In a CSV, texts that a spreadsheet would read as
    formulas get an apostrophe in front. `read_export` removes it.
    """
    from evenhand.annotation.store import administration

    return write_answers(administration.votes(store), store.study, path)


def write_answers(rows: Iterable[Mapping[str, Any]], study: Study, path: Path | str) -> Path:
    """Write an export of any rows of VOTES, read one at a time; otherwise like `write_export`."""
    one_by_one, frames = iter(rows), []
    while batch := list(islice(one_by_one, BATCH)):
        try:
            frames.append(pl.DataFrame(batch, schema=VOTES))
        except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError) as error:
            raise DataError(
                f"The database contains judgements of the study {study.name!r} that cannot be exported, because a "
                "value has the wrong type.",
                "The database was changed by another program, or is damaged. Restore a backup.",
            ) from error
    votes = pl.concat(frames) if frames else pl.DataFrame(schema=VOTES)
    return write_votes(path, apply_rules(votes, study.rules), describe_study(study))


@checked
def read_export(path: Path | str) -> Export:
    """Read exported human judgements from a file of `write_export`.

    Parameters
    ----------
    path : path or str
        The file: .jsonl, .csv or .parquet.

    Returns
    -------
    Export
        The judgements and the definition of the study.

    Raises
    ------
    DataError
        The file is not an export. The message names the line.
    """
    path = Path(path).expanduser()
    votes, header = read_votes(path)
    return Export(votes, header.get("study", {}), path)


def describe_study(study: Study) -> dict[str, Any]:
    """Return a study as in the first line of an export: without items, and without the codes of the last page."""
    return study.model_dump(
        mode="json", exclude={"items": True, "completion": True, "onboarding": {"items"}, "hidden": {"gold"}}
    )
