"""Public function for the study of RedditBias: `redditbias` runs it, and `RedditBiasTables` is the result."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console

from evenhand.runs import Progress, resumable
from evenhand.schema import UsageError, as_json, checked_kinds
from evenhand.studies.redditbias.conduct import RedditBiasStudy, study_redditbias
from evenhand.studies.redditbias.options import NAMED_ANEW, SAME_RESULTS, RedditBiasConfig
from evenhand.studies.redditbias.page import redditbias_page
from evenhand.studies.redditbias.record import stored_study
from evenhand.studies.redditbias.terminal import render_redditbias
from evenhand.studies.result import StudyResult
from evenhand.study import check_addresses, check_code, validated

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


@checked_kinds
def redditbias(
    model: str,
    *,
    bias: str | Sequence[str] = (),
    methods: str | Sequence[str] = (),
    source: Path | str | None = None,
    multiwoz: Path | str | None = None,
    dstc7: Path | str | None = None,
    output: Path | str | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> RedditBiasTables:
    """Debias a model with several methods, and measure bias, perplexity and dialogue tasks before and after.

    Parameters
    ----------
    model : str
        Name or folder of a causal Hugging Face model, or evenhand/reference.
    bias : sequence of str
        Bias types of RedditBias, or evenhand/AXIS for evenhand's own sentences. Default: religion1.
    methods : sequence of str
        As in `evenhand debias --method`. Default: lmd, add, hd and cda.
    source : path, optional
        Folder with RedditBias's files. Default: the cache.
    multiwoz, dstc7 : path, optional
        Archive or folder of each data set. A task without data is not measured.
    output : path, optional
        Folder of the study. An existing study is resumed.
    options
        Other fields of `evenhand.studies.redditbias.options.RedditBiasConfig`, such as as_published, task_limit,
        epochs, seed or device.

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
    given = {
        "model": model,
        "bias": (bias,) if isinstance(bias, str) else tuple(bias),
        "methods": (methods,) if isinstance(methods, str) else tuple(methods),
        "source": None if source is None else str(source),
        "multiwoz": None if multiwoz is None else str(multiwoz),
        "dstc7": None if dstc7 is None else str(dstc7),
        **options,
    }
    return redditbias_with(
        redditbias_config(given), output=None if output is None else Path(output), progress=progress
    )


def redditbias_config(given: Mapping[str, Any]) -> RedditBiasConfig:
    """Return the options of a RedditBias study. None and empty mean not given. Raise a UsageError that names an invalid
    one.

    >>> redditbias_config({"model": "gpt2", "bias": ("race",), "methods": ()}).methods
    ('lmd', 'add', 'hd', 'cda')
    """
    named = {name: value for name, value in given.items() if value is not None and value != ()}
    return validated(RedditBiasConfig, named)


def redditbias_with(
    config: RedditBiasConfig, *, output: Path | None = None, progress: Progress | None = None
) -> RedditBiasTables:
    """Run a study with options, and write its page."""
    study = RedditBiasTables(**vars(study_redditbias(config, output=output, progress=progress)))
    with resumable(f"Resume with: evenhand study redditbias {study.path}"):
        study.report()
    return study


def resumed_study(
    folder: Path, given: Mapping[str, Any], *, trust_addresses: bool = False
) -> RedditBiasConfig:
    """Return the options of a study on disk, updated with given ones that do not affect numbers.

    Code that comes with the model is run only if `given` allows it. Data named only in the folder are read if no
    service would receive them, or with trust_addresses. Raises UsageError for options that cannot be given
    again, DataError as `stored_study`, ResumeRefused.
    """
    named = {name: value for name, value in given.items() if value is not None and value != ()}
    if others := [name for name in named if name not in SAME_RESULTS | NAMED_ANEW]:
        raise UsageError(
            f"{folder} is an existing study, so {', '.join(others)} cannot be changed.",
            "Remove these options to resume it, or start a new study with -o.",
        )
    stored = stored_study(folder)
    check_code(folder, stored.trust_remote_code, bool(named.get("trust_remote_code")))
    check_addresses(folder, [stored.model], trusted=trust_addresses)
    return stored.model_copy(update={"trust_remote_code": False, **named})
