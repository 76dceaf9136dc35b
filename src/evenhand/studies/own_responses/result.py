"""Measures of responses that somebody already has: a file in, tables and a report out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
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
from evenhand.studies.own_responses.conduct import Measured, measure_responses

DETAILS = "details/"


@dataclass(frozen=True, repr=False)
class FileMeasurements(ViewedResult):
    """Measures of responses that somebody already had.

    file: of the responses. folder: in which `report` writes.
    """

    file: Path
    measured: Measured
    folder: Path

    @property
    def path(self) -> Path:
        """The folder that `report` writes into."""
        return self.folder

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
        return ReportView(
            title=self.file.name,
            model={"responses": str(self.file)},
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
                    f"Your responses {self.file.name}",
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
def measure_file(
    file: Path | str,
    benchmark: str,
    *,
    seed: int = 0,
    margin: float = 0.5,
    alpha: float = 0.05,
    reference: str | None = None,
    classifier_error: Path | str | None = None,
    classifiers: Mapping[str, str | Classifier | LanguageModel] | Sequence[str] = (),
    threshold: float | None = None,
    device: str = "auto",
    output: Path | str | None = None,
) -> FileMeasurements:
    """Measure responses that somebody already has (CSV, JSONL, Parquet); no language model is needed.

    file: one row per prompt: the benchmark's group columns, and `perplexity` or `log_likelihood` with
    `token_count`; for a benchmark of continuations one row per continuation, with a judgement (`negative`, or
    `score` and a threshold, or these behind the role: `toxicity_negative`) or a `continuation` to be judged.
    reference: a group with which the others of its axis are compared one by one, too.
    classifier_error: a file that says how often the classifier is wrong about each group
    (`evenhand.measures.error_counts`); rates are corrected by it.
    classifiers: who judges it now, by role, or as `--classifier` takes them. threshold: from which score on a
    continuation is negative. device: for classifiers with weights. output: the folder into which the result's `report`
    writes; a new one in runs/ by default. Nothing is written before.
    Raises DataError naming a column that lacks, UsageError for an unknown benchmark.
    """
    if not isinstance(classifiers, Mapping):
        classifiers = named_by_role(classifiers, [load_benchmark(benchmark)]) if classifiers else {}
    names, loaded = named_or_loaded(classifiers)
    measured = measure_responses(
        Path(file),
        benchmark,
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
    folder = default_path(Path(file).stem, f"measure-{benchmark}") if output is None else Path(output)
    return FileMeasurements(Path(file), measured, folder)
