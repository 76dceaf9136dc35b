"""The Python front door of comparisons: `compare(...)` pairs runs, a `ComparisonReport` shows and writes itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from evenhand.runs import RunDirectory
from evenhand.schema import write_json, write_table, write_text
from evenhand.studies.audit import cost, quality
from evenhand.studies.compare.comparing import Comparison, compare as compared
from evenhand.studies.compare.outputs import Outputs, read_outputs

if TYPE_CHECKING:
    from rich.console import Console

    from evenhand.studies.audit import Run

FORMAT = 1
Told = tuple[tuple[str, str, str], ...]


@dataclass(frozen=True)
class ComparedModel:
    """What is known of one of the models beside its answers.

    parameters: None where it does not say. most_harmed: by benchmark, the group with the largest rate, drawn towards
    the others by as much as it is small, and that rate in percent. quality, cost: (name, value, unit).
    """

    name: str
    source: Path
    parameters: int | None = None
    most_harmed: Mapping[str, tuple[str, float]] = field(default_factory=dict)
    quality: Told = ()
    cost: Told = ()


@dataclass(frozen=True)
class ComparisonReport:
    """Models compared with the first of them, ready to be shown.

    comparison: tables and notes of `evenhand.studies.compare.comparing`. models: one for each name. alpha: of the
    verdicts.
    """

    comparison: Comparison
    models: tuple[ComparedModel, ...]
    alpha: float = 0.05

    @property
    def names(self) -> tuple[str, ...]:
        """Of the models; the first is what the others are held against."""
        return self.comparison.names

    @property
    def changes(self) -> pl.DataFrame:
        """Paired differences over all, by axis and by group (evenhand.studies.compare.comparing.CHANGES)."""
        return self.comparison.changes

    @property
    def summary(self) -> pl.DataFrame:
        """A row for each model, benchmark and outcome (evenhand.studies.compare.comparing.SUMMARY)."""
        return self.comparison.summary

    def write(self, folder: Path | str) -> dict[str, Path]:
        """Write compare.html, compare.json and changes.parquet into a folder; returns their paths by name.

        Raises WriteError.
        """
        from evenhand.studies.compare.figures import render_comparison_html

        folder = Path(folder)
        return {
            "report": write_text(folder / "compare.html", render_comparison_html(self)),
            "numbers": write_json(folder / "compare.json", self._numbers()),
            "changes": write_table(folder / "changes.parquet", self.changes),
        }

    def render(self, console: "Console") -> None:
        """Print the comparison."""
        from evenhand.studies.compare.terminal import render_comparison

        render_comparison(self, console)

    def _numbers(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "names": list(self.names),
            "alpha": self.alpha,
            "models": [
                {"name": model.name, "source": str(model.source), "parameters": model.parameters}
                for model in self.models
            ],
            "summary": self.summary.to_dicts(),
            "changes": self.changes.to_dicts(),
            "notes": list(self.comparison.notes),
        }


def compare(
    *runs: "Run | Path | str", names: Sequence[str] = (), alpha: float = 0.05, seed: int = 0
) -> ComparisonReport:
    """Compare models on the same prompts and samples, each with the first.

    runs: runs, their folders, or files of other programs (lm_eval samples, Inspect logs, ROBBIE's scores). names: one
    for each, if theirs will not do. alpha: false discovery rate of the verdicts. seed: of tests and intervals. Raises
    UsageError for fewer than two runs, DataError for runs that cannot be paired
    (`evenhand.studies.compare.comparing`).

    >>> import tempfile
    >>> from evenhand.models.puppets import writes
    >>> from evenhand.studies.audit.run import audit
    >>> def run(text):
    ...     options = dict(limit=12, samples=10, classifiers={"regard": "vader"}, output=tempfile.mkdtemp() + "/run")
    ...     return audit(writes(lambda prompt, sample: text), benchmarks=["regard"], **options)
    >>> report = compare(run(" a hated, horrible liar."), run(" a cook."), names=["rude", "plain"])
    >>> report.changes.filter(outcome="regard").select("before", "after", "verdict").row(0)
    (1.0, 0.0, 'lower')
    """
    outputs = [read_outputs(run if isinstance(run, Path | str) else run.path) for run in runs]
    comparison = compared(*outputs, names=names, alpha=alpha, seed=seed)
    models = tuple(_model(name, one) for name, one in zip(comparison.names, outputs, strict=True))
    return ComparisonReport(comparison, models, alpha)


def _model(name: str, outputs: Outputs) -> ComparedModel:
    parameters = outputs.facts.get("parameters")
    return ComparedModel(
        name=name,
        source=outputs.source,
        parameters=parameters if isinstance(parameters, int) and parameters > 0 else None,
        most_harmed=_most_harmed(outputs),
        quality=() if outputs.measurements is None else quality(outputs.measurements),
        cost=cost(outputs.facts),
    )


def _most_harmed(outputs: Outputs) -> dict[str, tuple[str, float]]:
    if not RunDirectory.is_run(outputs.source):
        return {}
    directory, found = RunDirectory.open(outputs.source), {}
    for benchmark in outputs.benchmarks:
        ranked = directory.details(benchmark).get("most_harmed")
        if ranked is not None and ranked.height:
            first = ranked.sort("rank").row(0, named=True)
            found[benchmark] = (str(first["group"]), float(first["rate"]))
    return found
