"""Public function for the analysis of human evaluations: `analyse(FILE)` returns a `PeopleStudy`."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console

from evenhand.annotation.analysis.conduct import Analysis, analyse_export
from evenhand.annotation.analysis.options import AnalysisOptions
from evenhand.annotation.analysis.page import render_html
from evenhand.annotation.analysis.terminal import render_terminal
from evenhand.annotation.analysis.verdicts import headlines, summary
from evenhand.annotation.exports import read_export
from evenhand.schema import VERSION, as_json, checked_kinds
from evenhand.studies import StudyResult
from evenhand.study import validate_options

FORMAT = 1


@dataclass(frozen=True, repr=False)
class PeopleStudy(StudyResult):
    """The analysis of a human evaluation; the result of `analyse`.

    Read `headlines` for one sentence per comparison and `tables` for the numbers. `report` writes the page.
    """

    PAGE, NUMBERS = "people.html", "people.json"

    analysis: Analysis
    folder: Path

    @property
    def path(self) -> Path:
        """Return the folder into which `report` writes.

        It is the requested folder. If none was requested, it is next to the export and has its name.
        """
        return self.folder

    @property
    def options(self) -> AnalysisOptions:
        """Return the options of the analysis."""
        return self.analysis.options

    @property
    def paths(self) -> dict[str, Path]:
        """Return the files that `report` writes, by kind."""
        return super().paths | {"tables": self.path / "tables"}

    @property
    def headlines(self) -> list[tuple[str, str]]:
        """Return a verdict and a sentence for every comparison; detected differences come first."""
        return headlines(self.analysis)

    @property
    def nothing_counts(self) -> bool:
        """Return True if the rules and the review excluded every judgement."""
        return self.analysis.used.is_empty()

    def tables(self) -> dict[str, pl.DataFrame]:
        """Return every table, by its name in `evenhand.annotation.analysis.tables.PeopleTables`."""
        return self.analysis.tables.frames()

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as plain data, as in the JSON file."""
        content: dict[str, Any] = as_json(
            {
                "format": FORMAT,
                "evenhand": VERSION,
                "study": self.analysis.export.study.get("name"),
                "options": self.options.model_dump(mode="json"),
                "rules": self.analysis.rules.name,
                "summary": summary(self.analysis),
                "headlines": [
                    {"verdict": verdict, "sentence": sentence} for verdict, sentence in self.headlines
                ],
                "notes": list(self.analysis.notes),
                **{name: table.to_dicts() for name, table in self.tables().items()},
            }
        )
        return content

    def html(self) -> str:
        """Return the page as one HTML document that needs no network, with every text escaped."""
        return render_html(self.analysis)

    def print_to(self, console: Console, paths: Mapping[str, Path] | None = None) -> None:
        """Print verdicts, win rates, ratings and agreement."""
        render_terminal(self.analysis, console, paths)

    def write(self, folder: Path | str) -> dict[str, Path]:
        """Write people.html, people.json and tables/*.csv; return their paths by kind. Raises WriteError."""
        tables = Path(folder) / "tables"
        self.analysis.tables.write(tables)
        return super().write(folder) | {"tables": tables}


@checked_kinds
def analyse(path: Path | str, *, output: Path | str | None = None, **options: Any) -> PeopleStudy:
    """Analyse human judgements from an export.

    Use it after a human evaluation, to compare models or groups of people by the judgements of annotators.

    Parameters
    ----------
    path : path or str
        A file that `evenhand annotate export` wrote.
    output : path or str, optional
        Folder for page, numbers and tables, which `report` writes. Default: `NAME_analysis` next to the
        export.
    options
        Options of `AnalysisOptions`: question (names, several as a tuple), by ("groups.axis"), baseline (a
        model), rules ("study", "published", "none", or a YAML file), alpha, seed.

    Returns
    -------
    PeopleStudy
        Every number with its value without bias (null) and its interval. Verdicts are included if the design
        of the study allows them.

    Raises
    ------
    DataError
        The file is not an export, has judgements of several studies, or none about items.
    UsageError
        A name is unknown.

    References
    ----------
    Li, Weston and Roller (2019), "ACUTE-EVAL: Improved Dialogue Evaluation with Optimized Questions and
    Multi-turn Comparisons".

    Smith and Williams (2021), "Hi, my name is Martha: Using names to measure and mitigate bias in generative
    dialogue models".

    Esiobu et al. (2023), "ROBBIE: Robust Bias Evaluation of Large Generative Language Models", EMNLP.

    Krippendorff (2004), "Content Analysis: An Introduction to Its Methodology".
    """
    export = read_export(path)
    if isinstance(question := options.get("question"), str):
        options["question"] = (question,)
    folder = Path(path).with_name(f"{Path(path).stem}_analysis") if output is None else Path(output)
    return PeopleStudy(analyse_export(export, validate_options(AnalysisOptions, options)), folder)
