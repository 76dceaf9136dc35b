"""Public function for the study of names: `names_study` runs it, and `NamesTables` is the result."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console

from evenhand.runs import Progress
from evenhand.schema import as_json
from evenhand.studies.names.conduct import NamesStudy, study_names
from evenhand.studies.names.options import NamesConfig
from evenhand.studies.names.page import names_page
from evenhand.studies.names.study import NAMES
from evenhand.studies.names.terminal import render_names
from evenhand.studies.result import StudyResult
from evenhand.study import Call, with_options

FORMAT = 1


@dataclass(frozen=True, repr=False)
class NamesTables(NamesStudy, StudyResult):
    """Result of a study of names. It has the fields of `NamesStudy`."""

    PAGE, NUMBERS = "report.html", "report.json"
    __repr__ = StudyResult.__repr__

    @property
    def path(self) -> Path:
        """Folder of the study."""
        return self.folder

    def tables(self) -> dict[str, pl.DataFrame]:
        """Return the table ``cells`` with every number (columns: `evenhand.studies.names.cells.CELLS`)."""
        return {"cells": self.cells}

    def to_dict(self) -> dict[str, Any]:
        """Return options, cells and a list of missing measures as plain data."""
        content: dict[str, Any] = as_json(
            {
                "format": FORMAT,
                "options": self.config.model_dump(mode="json"),
                "cells": self.cells.to_dicts(),
                "left_out": list(self.left_out),
                "tuned": list(self.tuned),
                "models": as_json(self.facts, ordered=True),
            }
        )
        return content

    def html(self) -> str:
        """Return the tables and figures as one HTML document that needs no network."""
        return names_page(self)

    def print_to(self, console: Console, paths: Mapping[str, Path] | None = None) -> None:
        """Print the results of each row, and the tables of the paper."""
        render_names(self, console, paths)


@with_options(NamesConfig)
def names_study(
    model: str, *, output: Path | str | None = None, progress: Progress | None = None, **options: Any
) -> NamesTables:
    """Compare the self-chats of several models on the same names (the study of Smith & Williams 2021). Prints nothing.

    Parameters
    ----------
    model
        As in `evenhand.audit`; its row is called `original`.
    output
        Folder of the study. An existing study is resumed, and rows may be added to it.
    progress
        Receives progress messages.
    {options}

    Returns
    -------
    NamesTables
        The finished study with its page.

    Raises
    ------
    UsageError, DataError
        An option or a file is invalid.
    Unsupported
        A model cannot have conversations.
    Interrupted, ResumeRefused
        The study was interrupted (it can be resumed), or cannot be resumed with these options.

    References
    ----------
    - Smith & Williams 2021, tables 2 to 10, figures 1 and 2.
    """
    return NAMES.run({"model": model, **options}, output, progress)


def perform_names(options: NamesConfig, call: Call) -> NamesTables:
    """Run a study with options, or resume it."""
    return NamesTables(**vars(study_names(options, output=call.output, progress=call.progress)))
