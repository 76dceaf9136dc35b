"""The front door of the analysis: `analyse(FILE)` and the `PeopleStudy` it returns."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console

from evenhand.annotation.analysis.conduct import Analysis, analysed
from evenhand.annotation.analysis.options import AnalysisOptions
from evenhand.annotation.analysis.page import render_html
from evenhand.annotation.analysis.terminal import render_terminal
from evenhand.annotation.analysis.verdicts import headlines, summary
from evenhand.annotation.exports import read_export
from evenhand.schema import VERSION, as_json, checked_kinds
from evenhand.studies import StudyResult, validated

FORMAT = 1


@dataclass(frozen=True, repr=False)
class PeopleStudy(StudyResult):
    """What people's answers say."""

    PAGE, NUMBERS = "people.html", "people.json"

    analysis: Analysis
    folder: Path

    @property
    def path(self) -> Path:
        """Where `report` writes: the folder asked for, else one beside the export that is called like it."""
        return self.folder

    @property
    def options(self) -> AnalysisOptions:
        """What was asked."""
        return self.analysis.options

    @property
    def paths(self) -> dict[str, Path]:
        """The files that `report` writes, by what they are."""
        return super().paths | {"tables": self.path / "tables"}

    @property
    def headlines(self) -> list[tuple[str, str]]:
        """(verdict, sentence) of every comparison, what was found first."""
        return headlines(self.analysis)

    @property
    def nothing_counts(self) -> bool:
        """Whether rules and review left no answer to analyse."""
        return self.analysis.used.is_empty()

    def tables(self) -> dict[str, pl.DataFrame]:
        """Every table, by the name it has in `evenhand.annotation.analysis.tables.PeopleTables`."""
        return self.analysis.tables.frames()

    def to_dict(self) -> dict[str, Any]:
        """The numbers as plain data, as they stand in the JSON file."""
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
        """The page: one document that needs no network, every text escaped."""
        return render_html(self.analysis)

    def print_to(self, console: Console, paths: Mapping[str, Path] | None = None) -> None:
        """Print verdicts, win rates, ratings and agreement."""
        render_terminal(self.analysis, console, paths)

    def write(self, folder: Path | str) -> dict[str, Path]:
        """Write people.html, people.json and tables/*.csv; their paths by what they are. Raises WriteError."""
        tables = Path(folder) / "tables"
        self.analysis.tables.write(tables)
        return super().write(folder) | {"tables": tables}


@checked_kinds
def analyse(path: Path | str, *, output: Path | str | None = None, **options: Any) -> PeopleStudy:
    """Analyse people's answers, from their export alone.

    path: what `evenhand annotate export` wrote. output: the folder of page, numbers and tables, which `report` writes;
    by default `NAME_analysis` beside the export. options: those of `AnalysisOptions`: question (names, several as a
    tuple), by ("groups.axis"), baseline (a model), rules ("study", "published", "none", or a YAML file), alpha, seed.
    Returns the study: every number beside its null and interval, verdicts where the design can carry them.
    Raises DataError for a file that is no export, holds answers of several studies or none about items, UsageError for
    names it does not know.
    Source: Li et al. 2019 (ACUTE-Eval); Smith & Williams 2021; ROBBIE (Esiobu et al. 2023); Krippendorff 2004.
    """
    export = read_export(path)
    if isinstance(question := options.get("question"), str):
        options["question"] = (question,)
    folder = Path(path).with_name(f"{Path(path).stem}_analysis") if output is None else Path(output)
    return PeopleStudy(analysed(export, validated(AnalysisOptions, options)), folder)
