"""Exports: written from a store, and read again as a table and the definition beside it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.annotation.store import Store


@dataclass(frozen=True)
class Export:
    """People's answers, and what is known of the study they belong to."""

    votes: pl.DataFrame
    """VOTES, `excluded` filled in."""
    study: Mapping[str, Any]
    """The definition without items: questions, rules, seed, survey, assignment; {} where a CSV brought none."""
    path: Path


def write_export(store: Store, path: Path | str) -> Path:
    """Write all answers to .jsonl (first line: the study), .csv or .parquet. Raises UsageError, WriteError."""
    raise NotImplementedError


def read_export(path: Path | str) -> Export:
    """Read what `write_export` wrote. Raises DataError with the line for what it is not."""
    raise NotImplementedError
