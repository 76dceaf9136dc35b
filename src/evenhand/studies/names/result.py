"""Public function for the study of names: `names_study` runs it, and `NamesTables` is the result."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console

from evenhand.runs import Progress, resumable
from evenhand.schema import UsageError, as_json, checked_kinds
from evenhand.studies.names.conduct import NamesStudy, study_names
from evenhand.studies.names.options import NAMED_ANEW, SAME_RESULTS, NamesConfig
from evenhand.studies.names.page import names_page
from evenhand.studies.names.record import stored_study, unfinished
from evenhand.studies.names.terminal import render_names
from evenhand.studies.result import StudyResult
from evenhand.study import check_addresses, check_code, validated

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


@checked_kinds
def names_study(
    model: str,
    *,
    rows: Mapping[str, str | Path] | None = None,
    decoding: str | Sequence[str] = (),
    output: Path | str | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> NamesTables:
    """Compare the self-chats of several models on the same names (the study of Smith & Williams 2021). Prints nothing.

    Parameters
    ----------
    model
        As in `evenhand.audit`; its row is called `original`.
    rows
        Further models by label, such as debiased ones.
    decoding
        Decoding presets: published, greedy (the default) or sampling. With several, every model is decoded with each.
    output
        Folder of the study. An existing study is resumed, and rows may be added to it.
    options
        Other fields of `evenhand.studies.names.options.NamesConfig` (limit, classifiers, personas, dialogue, data,
        seed, device, ...).

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
    given = {
        "model": model,
        "rows": {label: str(folder) for label, folder in (rows or {}).items()} or None,
        "decoding": (decoding,) if isinstance(decoding, str) else tuple(decoding),
        **options,
    }
    return names_with(names_config(given), output=None if output is None else Path(output), progress=progress)


def names_config(given: Mapping[str, Any]) -> NamesConfig:
    """Return the options of a study of names. None and empty mean not given. Raise a UsageError that names an invalid
    one.

    >>> names_config({"model": "gpt2", "decoding": ()}).decoding
    ('greedy',)
    """
    named = {name: value for name, value in given.items() if value is not None and value not in ((), {})}
    return validated(NamesConfig, named)


def names_with(
    config: NamesConfig, *, output: Path | None = None, progress: Progress | None = None
) -> NamesTables:
    """Run a study with options, and write its page."""
    study = NamesTables(**vars(study_names(config, output=output, progress=progress)))
    with resumable(f"Resume with: evenhand study names {study.path}"):
        study.report()
    return study


def resumed_study(folder: Path, given: Mapping[str, Any], *, trust_addresses: bool = False) -> NamesConfig:
    """Return the options of a study on disk, updated with given ones that do not affect numbers.

    Given rows are added or replace unfinished ones. Code that comes with a model is run only if `given` allows it. URLs
    named only in the folder are used only with trust_addresses. Raises UsageError for options that cannot be given
    again, DataError as `stored_study`, ResumeRefused.
    """
    named = {name: value for name, value in given.items() if value is not None and value not in ((), {})}
    if others := [name for name in named if name not in SAME_RESULTS | NAMED_ANEW | {"rows"}]:
        raise UsageError(
            f"{folder} is an existing study, so {', '.join(others)} cannot be changed.",
            "Remove these options to resume it, or start a new study with -o. Only rows can be added.",
        )
    stored = stored_study(folder)
    check_code(folder, stored.trust_remote_code, bool(named.get("trust_remote_code")))
    check_addresses(folder, list(stored.models.values()), trusted=trust_addresses)
    rows = {**stored.rows, **named.pop("rows", {})}
    open_rows = unfinished(folder, stored)
    changed = [label for label, model in stored.rows.items() if rows[label] != model]
    if finished := [label for label in changed if label not in open_rows]:
        raise UsageError(f"{folder} already has a row {finished[0]!r}.", "Use another label for the new row.")
    return validated(NamesConfig, {**stored.model_dump(), "trust_remote_code": False, **named, "rows": rows})
