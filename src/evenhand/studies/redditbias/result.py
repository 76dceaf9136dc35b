"""Public function for the study of RedditBias: `redditbias` runs it, and `RedditBiasTables` is the result."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console

from evenhand.runs import Progress
from evenhand.schema import as_json
from evenhand.studies.redditbias.conduct import RedditBiasStudy, study_redditbias
from evenhand.studies.redditbias.options import RedditBiasConfig
from evenhand.studies.redditbias.page import redditbias_page
from evenhand.studies.redditbias.study import REDDITBIAS
from evenhand.studies.redditbias.terminal import render_redditbias
from evenhand.studies.result import StudyResult
from evenhand.study import Call, with_options

FORMAT = 1


@dataclass(frozen=True, repr=False)
class RedditBiasTables(RedditBiasStudy, StudyResult):
    """Result of a RedditBias study. It has the fields of `RedditBiasStudy`."""

    PAGE, NUMBERS = "report.html", "report.json"
    __repr__ = StudyResult.__repr__

    @property
    def path(self) -> Path:
        """Folder of the study."""
        return self.folder

    def tables(self) -> dict[str, pl.DataFrame]:
        """Return the table ``cells`` with every number (columns: `evenhand.studies.redditbias.cells.CELLS`)."""
        return {"cells": self.cells}

    def to_dict(self) -> dict[str, Any]:
        """Return options, cells and a list of missing measures as plain data."""
        content: dict[str, Any] = as_json(
            {
                "format": FORMAT,
                "options": self.config.model_dump(mode="json"),
                "cells": self.cells.to_dicts(),
                "not_measured": list(self.not_measured),
                "notes": list(self.notes),
                "facts": as_json(self.facts, ordered=True),
            }
        )
        return content

    def html(self) -> str:
        """Return the tables as one HTML document that needs no network."""
        return redditbias_page(self)

    def print_to(self, console: Console, paths: Mapping[str, Path] | None = None) -> None:
        """Print the effect and the cost of each debiasing method, and the tables of the paper."""
        render_redditbias(self, console, paths)


@with_options(RedditBiasConfig)
def redditbias(
    model: str, *, output: Path | str | None = None, progress: Progress | None = None, **options: Any
) -> RedditBiasTables:
    """Debias a model with several methods, and measure bias, perplexity and dialogue tasks before and after.

    Parameters
    ----------
    model : str
        Name or folder of a causal Hugging Face model, or evenhand/reference.
    output : path, optional
        Folder of the study. An existing study is resumed.
    progress : Progress, optional
        Receives progress messages.
    {options}

    Returns
    -------
    RedditBiasTables
        The finished study with its page.

    Raises
    ------
    UsageError, DataError
        An option or a file is invalid.
    Unsupported
        The model cannot be trained.
    Interrupted, ResumeRefused
        The study was interrupted (it can be resumed), or cannot be resumed with these options.

    References
    ----------
    - Barikeri et al. 2021, sections 3 to 5, Figure 1, Tables 4 and 5.
    """
    return REDDITBIAS.run({"model": model, **options}, output, progress)


def perform_redditbias(options: RedditBiasConfig, call: Call) -> RedditBiasTables:
    """Run a study with options, or resume it."""
    return RedditBiasTables(**vars(study_redditbias(options, output=call.output, progress=call.progress)))
