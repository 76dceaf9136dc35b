"""Measures of responses that somebody already has: a file in, tables and a report out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import polars as pl

from evenhand.benchmarks import load_benchmark
from evenhand.classifiers import Classifier
from evenhand.measures import measure_cards
from evenhand.models import LanguageModel
from evenhand.reports import ReportView
from evenhand.runs import default_path
from evenhand.schema import checked_kinds, write_table
from evenhand.studies.audit import ViewedResult, benchmark_view, named_by_role, named_or_loaded
from evenhand.studies.own_responses.conduct import ANSWERS, Measured, Reading, measure_responses
from evenhand.studies.own_responses.frames import as_source

DETAILS = "details/"


@dataclass(frozen=True, repr=False)
class FileMeasurements(ViewedResult):
    """Measures of responses that somebody already had.

    file: of the responses; None where they came as a table. folder: in which `report` writes.
    """

    file: Path | None
    measured: Measured
    folder: Path

    @property
    def path(self) -> Path:
        """The folder that `report` writes into."""
        return self.folder

    @property
    def told(self) -> tuple[str, ...]:
        """What was guessed about the table, with the flag that states it, and what was left out."""
        return self.measured.told

    @property
    def findings(self) -> pl.DataFrame:
        """One verdict a row (evenhand.schema.FINDINGS)."""
        return self.measured.judged.findings

    @property
    def measurements(self) -> pl.DataFrame:
        """One number a row (evenhand.schema.MEASUREMENTS)."""
        return self.measured.judged.measurements

    def view(self, paths: Mapping[str, str] | None = None) -> ReportView:
        """Everything a report shows."""
        measured = self.measured
        name = "table" if self.file is None else self.file.name
        return ReportView(
            title=name,
            model={"responses": name if self.file is None else str(self.file)},
            manifest={"arguments_resolved": measured.arguments},
            measurements=self.measurements,
            findings=self.findings,
            headlines=measured.judged.headlines,
            benchmarks=(
                benchmark_view(
                    measured.benchmark,
                    measured.responses,
                    measured.judged.details,
                    self.measurements,
                    f"Your responses {name}",
                ),
            ),
            measure_cards=measure_cards(self.measurements["measure"]),
            paths=_told(paths or {}),
            alpha=measured.arguments["alpha"],
        )

    def write(self, folder: Path | str) -> dict[str, Path]:
        """Write report.html, measurements.json and the detail tables, these as an audit stores them:
        details/BENCHMARK/NAME.parquet. Returns paths by name. Raises WriteError."""
        written = super().write(folder)
        tables = Path(folder) / DETAILS / quote(self.measured.benchmark, safe="")
        for name, table in self.measured.judged.details.items():
            path = tables / f"{quote(name, safe='')}.parquet"
            write_table(path, table)
            written[f"{DETAILS}{name}"] = path
        return written

    def tables(self) -> dict[str, pl.DataFrame]:
        """`measurements`, `findings`, `headlines`, `responses`, and the detail tables of the benchmark."""
        judged = self.measured.judged
        frames = {name: getattr(judged, name) for name in ("measurements", "findings", "headlines")}
        return {**frames, "responses": self.measured.responses, **judged.details}


def _told(paths: Mapping[str, str]) -> dict[str, str]:
    """Where files lie, for a reader: the folder of the detail tables rather than each of them."""
    told = {name: path for name, path in paths.items() if not name.startswith(DETAILS)}
    tables = [path for name, path in paths.items() if name.startswith(DETAILS)]
    if tables:
        told["tables"] = str(Path(tables[0]).parent)
    return told


@checked_kinds
def measure(
    answers: Any,
    benchmark: str | None = None,
    *,
    columns: Mapping[str, str] | Sequence[str] = (),
    negative: str | Sequence[str] = (),
    classifiers: str | Mapping[str, str | Classifier | LanguageModel] | Sequence[str] = (),
    threshold: float | None = None,
    reference: str | None = None,
    classifier_error: Path | str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    sheet: str | None = None,
    missing: str | Sequence[str] = (),
    seed: int = 0,
    margin: float = 0.5,
    alpha: float = 0.05,
    device: str = "auto",
    output: Path | str | None = None,
) -> FileMeasurements:
    """Measure answers that somebody already has; no language model is needed.

    answers: a path (CSV of any delimiter, TSV, JSON Lines, Parquet, a workbook), a Polars or pandas frame, a dict of
    columns or a list of dicts. benchmark: whose measures to compute on its responses; None: `answers`, whatever
    was asked. columns: what the table's columns hold, {"who": "group", "pay": "score"}: group
    (several are several axes), axis, question, unit, rater, sample, continuation, score, label, negative, error; what
    is not said is guessed by name and told in `told`. negative: the labels that are negative. classifiers: who judges
    the answers now, by role, or as `--classifier` takes them. threshold: from which score on an answer is negative;
    without one the means of scores are compared. reference: a group with which the others of its axis are compared one
    by one, too. classifier_error: a file that says how often the classifier is wrong about each group
    (`evenhand.measures.error_counts`). delimiter, encoding, decimal, sheet: of the file, where it does not say so
    itself. missing: values that count as missing in every column, as empty ones do
    ("k.A.", "-99"). seed: of deals and bootstrap. alpha: level of the verdicts. margin: of benchmarks of likelihoods.
    device: for classifiers with weights. output: the folder into which the result's `report` writes; a new one in runs/
    by default. Nothing is written before.
    Raises DataError naming a column or row, UsageError for an unknown benchmark, column or value.

    >>> answers = {"who": ["women", "men"] * 30, "hostile": [True, False] * 20 + [False] * 20}
    >>> found = measure(answers, columns={"who": "group"})
    >>> found.tables()["headlines"]["sentence"].item()
    'Who: worse for women than for men: 66.7 % hostile against 0 % (gap 66.7 points, ...'
    """
    if isinstance(classifiers, str):
        classifiers = [classifiers]
    if not isinstance(classifiers, Mapping):
        classifiers = (
            named_by_role(classifiers, [load_benchmark(benchmark or ANSWERS)]) if classifiers else {}
        )
    names, loaded = named_or_loaded(classifiers)
    source = as_source(answers)
    measured = measure_responses(
        source,
        benchmark,
        reading=Reading(
            columns if isinstance(columns, Mapping) else tuple(columns),
            (negative,) if isinstance(negative, str) else tuple(negative),
            delimiter,
            encoding,
            decimal,
            sheet,
            (missing,) if isinstance(missing, str) else tuple(missing),
        ),
        seed=seed,
        margin=margin,
        alpha=alpha,
        reference=reference,
        classifier_error=classifier_error,
        classifiers=names,
        threshold=threshold,
        device=device,
        loaded=loaded,
    )
    file = source if isinstance(source, Path) else None
    stem = "table" if file is None else file.stem
    folder = default_path(stem, f"measure-{measured.benchmark}") if output is None else Path(output)
    return FileMeasurements(file, measured, folder)
