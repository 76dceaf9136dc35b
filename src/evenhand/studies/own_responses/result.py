"""Measures of responses that somebody already has, for Python: a file in, tables and a report out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from evenhand.benchmarks import load_benchmark
from evenhand.classifiers import Classifier
from evenhand.measures import measure_cards
from evenhand.models import LanguageModel
from evenhand.reports import ReportView
from evenhand.studies.audit import benchmark_view, named_by_role, named_or_loaded
from evenhand.studies.own_responses.conduct import Measured, measure_responses


@dataclass(frozen=True)
class FileMeasurements:
    """Measures of responses that somebody already had."""

    file: Path
    measured: Measured

    @property
    def findings(self) -> pl.DataFrame:
        """One verdict a row (evenhand.schema.FINDINGS)."""
        return self.measured.findings

    @property
    def measurements(self) -> pl.DataFrame:
        """One number a row (evenhand.schema.MEASUREMENTS)."""
        return self.measured.measurements

    def view(self, paths: Mapping[str, str] | None = None) -> ReportView:
        """Everything a report shows."""
        measured = self.measured
        return ReportView(
            title=self.file.name,
            model={"responses": str(self.file)},
            manifest={"arguments_resolved": measured.arguments},
            measurements=measured.measurements,
            findings=measured.findings,
            benchmarks=(
                benchmark_view(
                    measured.benchmark,
                    measured.responses,
                    measured.details,
                    measured.measurements,
                    f"Your responses {self.file.name}",
                ),
            ),
            measure_cards=measure_cards(measured.measurements["measure"]),
            paths=dict(paths or {}),
            alpha=measured.arguments["alpha"],
        )

    def write(self, folder: Path | str) -> dict[str, Path]:
        """Write report.html and measurements.json into a folder; returns their paths by name."""
        from evenhand.reports import write_measurements_json
        from evenhand.studies.audit import write_html

        folder, view = Path(folder), self.view()
        write_measurements_json(view, folder / "measurements.json")
        return {"report": write_html(view, folder / "report.html"), "numbers": folder / "measurements.json"}


def measure_file(
    file: Path | str,
    benchmark: str,
    *,
    seed: int = 0,
    margin: float = 0.05,
    alpha: float = 0.05,
    classifiers: Mapping[str, str | Classifier | LanguageModel] | Sequence[str] = (),
    threshold: float | None = None,
    device: str = "auto",
) -> FileMeasurements:
    """Measure responses that somebody already has (CSV, JSONL, Parquet); no language model is needed.

    file: one row per prompt: the benchmark's group columns, and `perplexity` or `log_likelihood` with
    `token_count`; for a benchmark of continuations one row per continuation, with a judgement (`negative`, or
    `score` and a threshold, or these behind the role: `toxicity_negative`) or a `continuation` to be judged.
    classifiers: who judges it now, by role, or as `--classifier` takes them. threshold: from which score on a
    continuation is negative. device: for classifiers with weights.
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
        classifiers=names,
        threshold=threshold,
        device=device,
        loaded=loaded,
    )
    return FileMeasurements(Path(file), measured)
