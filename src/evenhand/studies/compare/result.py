"""The front door of comparisons: `compare(...)` pairs runs, a `ComparisonReport` shows and writes itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
from rich.console import Console

from evenhand.runs import default_path
from evenhand.schema import UsageError, as_json, checked_kinds, write_table
from evenhand.studies.compare.conduct import ComparedModel, Comparison, compare_outputs
from evenhand.studies.compare.figures import headlines_of
from evenhand.studies.compare.page import render_comparison_html
from evenhand.studies.compare.terminal import render_comparison
from evenhand.studies.result import StudyResult

if TYPE_CHECKING:
    from evenhand.studies.audit import Run

FORMAT = 2
CHANGES_FILE, MOVED_FILE = "changes.parquet", "moved.parquet"


@dataclass(frozen=True, repr=False)
class ComparisonReport(StudyResult):
    """Models compared with the first of them, ready to be shown.

    comparison: its tables, models and notes. folder: in which `report` writes.
    """

    PAGE, NUMBERS = "compare.html", "compare.json"

    comparison: Comparison
    folder: Path

    @property
    def path(self) -> Path:
        """The folder that `report` writes into."""
        return self.folder

    @property
    def paths(self) -> dict[str, Path]:
        """The files that `report` writes, by what they are."""
        return super().paths | {"changes": self.path / CHANGES_FILE, "moved": self.path / MOVED_FILE}

    @property
    def models(self) -> tuple[ComparedModel, ...]:
        """What is known of each model beside its answers."""
        return self.comparison.models

    @property
    def alpha(self) -> float:
        """Level of the verdicts."""
        return self.comparison.alpha

    @property
    def names(self) -> tuple[str, ...]:
        """Of the models; the first is what the others are held against."""
        return self.comparison.names

    @property
    def changes(self) -> pl.DataFrame:
        """Paired changes between groups, over all and by axis (`evenhand.studies.compare.changes.CHANGES`)."""
        return self.comparison.changes

    @property
    def texts(self) -> pl.DataFrame:
        """What changed in the texts themselves (`evenhand.studies.compare.texts.QUALITY` with model, q and verdict)."""
        return self.comparison.texts

    @property
    def headlines(self) -> pl.DataFrame:
        """A sentence a row: what changed between groups first, then over all, then in the text."""
        return headlines_of(self.comparison)

    @property
    def moved(self) -> pl.DataFrame:
        """The prompts whose answers changed most, side by side (`evenhand.studies.compare.moved.MOVED`)."""
        return self.comparison.moved

    @property
    def course(self) -> pl.DataFrame:
        """Disparity and level from model to model, where `by` puts them in a row (`...compare.trajectory.COURSE`)."""
        return self.comparison.course

    @property
    def summary(self) -> pl.DataFrame:
        """A row for each model, benchmark and outcome (evenhand.studies.compare.conduct.SUMMARY)."""
        return self.comparison.summary

    def tables(self) -> dict[str, pl.DataFrame]:
        """`headlines`, `changes`, `texts`, `summary`, `moved` and `course`."""
        names = ("headlines", "changes", "texts", "summary", "moved", "course")
        return {name: getattr(self, name) for name in names}

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, as it stands in compare.json."""
        return as_json(
            {
                "format": FORMAT,
                "names": list(self.names),
                "alpha": self.alpha,
                "margin": self.comparison.margin,
                "models": [
                    {"name": model.name, "source": str(model.source), "parameters": model.parameters}
                    for model in self.models
                ],
                "headlines": self.headlines.to_dicts(),
                "summary": self.summary.to_dicts(),
                "changes": self.changes.to_dicts(),
                "texts": self.texts.to_dicts(),
                "moved": self.moved.to_dicts(),
                "by": None if self.comparison.order is None else self.comparison.order.name,
                "course": self.course.to_dicts(),
                "notes": list(self.comparison.notes),
            }
        )

    def html(self) -> str:
        """The models beside each other and what changed: one document that needs no network."""
        return render_comparison_html(self.comparison)

    def print_to(self, console: Console, paths: Mapping[str, Path] | None = None) -> None:
        """Print all models, then what changed, by axis and for which groups."""
        render_comparison(self.comparison, console, paths)

    def write(self, folder: Path | str) -> dict[str, Path]:
        """Write compare.html, compare.json, changes.parquet and moved.parquet into a folder; their paths by name.

        Raises WriteError.
        """
        return super().write(folder) | {
            "changes": write_table(Path(folder) / CHANGES_FILE, self.changes),
            "moved": write_table(Path(folder) / MOVED_FILE, self.moved),
        }


@checked_kinds
def compare(
    *runs: "Run | Path | str",
    names: Sequence[str] = (),
    alpha: float = 0.05,
    margin: float | None = None,
    seed: int = 0,
    by: str | None = None,
    output: Path | str | None = None,
) -> ComparisonReport:
    """Compare models on the same prompts and samples, each with the first.

    runs: runs, their folders, or files of other programs (lm_eval samples, Inspect logs, ROBBIE's scores). names: one
    for each, if theirs will not do. alpha: chance of any false verdict where nothing changed. margin: by how much a
    group may fare worse beside the others and still pass as no worse (0.05: five points). seed: of tests and intervals.
    by: what the models are put in a row by: "size" (parameters), "date" (when each run began) or
    "NAME=NUMBER,NUMBER,...", such as training steps, one for each run. output: the folder into which the report writes;
    a new one in runs/ by default. Nothing is written before. Raises UsageError for fewer than two runs, DataError for
    runs that cannot be paired (`evenhand.studies.compare.conduct`).

    >>> import tempfile
    >>> from evenhand.models.puppets import writes
    >>> from evenhand.studies.audit.result import audit
    >>> def run(text):
    ...     options = dict(limit=12, samples=10, classifiers={"regard": "vader"}, output=tempfile.mkdtemp() + "/run")
    ...     return audit(writes(lambda prompt, sample: text), benchmarks=["regard"], **options)
    >>> report = compare(run(" a hated, horrible liar."), run(" a cook."), names=["rude", "plain"])
    >>> report.changes.filter(outcome="regard", measure="level_change").select("before", "after", "verdict").row(0)
    (1.0, 0.0, 'lower')
    """
    for run in runs:
        if not isinstance(run, Path | str) and not hasattr(run, "path"):
            raise UsageError(f"compare got {run!r}.", "Give runs, their folders, or files of other programs.")
    sources = [run if isinstance(run, Path | str) else run.path for run in runs]
    comparison = compare_outputs(*sources, names=names, alpha=alpha, margin=margin, seed=seed, by=by)
    folder = default_path(Path(comparison.names[0]).name, "compare") if output is None else Path(output)
    return ComparisonReport(comparison, folder)
