"""Public function for comparisons: `compare` pairs runs, and `ComparisonReport` is the result."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
from rich.console import Console

from evenhand.runs import default_path
from evenhand.schema import UsageError, as_json, checked_kinds, write_table
from evenhand.studies.compare.conduct import ComparedModel, Comparison, compare_outputs
from evenhand.studies.result import StudyResult

if TYPE_CHECKING:
    from evenhand.studies.audit import Run

FORMAT = 2
CHANGES_FILE, MOVED_FILE = "changes.parquet", "moved.parquet"


@dataclass(frozen=True, repr=False)
class ComparisonReport(StudyResult):
    """A comparison of two or more models on the same prompts and samples; the result of `compare`.

    Read `headlines` for sentences and `changes` for the numbers. Each later model is compared with the first,
    which is the reference. A change is the value of the later model minus that of the first.

    Attributes
    ----------
    comparison : Comparison
        Tables, models and notes.
    folder : Path
        Folder into which `report` writes.
    names : tuple of str
        Names of the models, the reference first.
    headlines, changes, texts, summary, moved, course : polars.DataFrame
        Results, described at each property.

    Notes
    -----
    An axis is a way to group people, such as religion. An outcome is what was measured of a response, such as
    its toxicity.
    """

    PAGE, NUMBERS = "compare.html", "compare.json"

    comparison: Comparison
    folder: Path

    @property
    def path(self) -> Path:
        """Return the folder into which `report` writes."""
        return self.folder

    @property
    def paths(self) -> dict[str, Path]:
        """Return the paths of the files that `report` writes, under "report", "numbers", "changes" and "moved"."""
        return super().paths | {"changes": self.path / CHANGES_FILE, "moved": self.path / MOVED_FILE}

    @property
    def models(self) -> tuple[ComparedModel, ...]:
        """Return facts about each model, such as its number of parameters and its most harmed group."""
        return self.comparison.models

    @property
    def alpha(self) -> float:
        """Return the significance level: q at or below it gives a verdict of change."""
        return self.comparison.alpha

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the models. The others are compared with the first."""
        return self.comparison.names

    @property
    def changes(self) -> pl.DataFrame:
        """Return changes between groups, then overall and by axis, with CI, q and verdict.

        ``measure`` names the kind of change. "level_change" is after minus before. "group_difference_change" is
        that of a group minus the mean change of the other groups of its axis. "disparity_change" is the spread
        of the changes of an axis' groups (a standard deviation). Rates are proportions (0.05 is five points).
        All columns: `evenhand.studies.compare.changes.CHANGES`.
        """
        return self.comparison.changes

    @property
    def texts(self) -> pl.DataFrame:
        """Return changes in text quality, such as length and perplexity, one row per model, benchmark and measure.

        ``scale`` states whether ``estimate`` is a difference or, for perplexities, a ratio. The columns are
        model, those of `evenhand.studies.compare.texts.QUALITY`, q and verdict.
        """
        return self.comparison.texts

    @property
    def headlines(self) -> pl.DataFrame:
        """Return one sentence per row: first changes between groups, then overall changes, then changes of the text."""
        from evenhand.studies.compare.figures import write_headlines

        return write_headlines(self.comparison)

    @property
    def moved(self) -> pl.DataFrame:
        """Return the prompts whose responses changed most, with both responses.

        ``change`` is after minus before. All columns: `evenhand.studies.compare.moved.MOVED`.
        """
        return self.comparison.moved

    @property
    def course(self) -> pl.DataFrame:
        """Return the difference between groups and the level in each model; no rows unless `by` orders the models.

        All columns: `evenhand.studies.compare.trajectory.COURSE`.
        """
        return self.comparison.course

    @property
    def summary(self) -> pl.DataFrame:
        """Return one row per model, benchmark and outcome: rate (a proportion) with its CI, and the most harmed group.

        All columns: `evenhand.studies.compare.summary.SUMMARY`.
        """
        return self.comparison.summary

    def tables(self) -> dict[str, pl.DataFrame]:
        """Return the tables `headlines`, `changes`, `texts`, `summary`, `moved` and `course`."""
        names = ("headlines", "changes", "texts", "summary", "moved", "course")
        return {name: getattr(self, name) for name in names}

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, as in compare.json."""
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
        """Return the comparison as one HTML document that needs no network."""
        from evenhand.studies.compare.page import render_comparison_html

        return render_comparison_html(self.comparison)

    def print_to(self, console: Console, paths: Mapping[str, Path] | None = None) -> None:
        """Print all models, then the changes by axis and group."""
        from evenhand.studies.compare.terminal import render_comparison

        render_comparison(self.comparison, console, paths)

    def write(self, folder: Path | str) -> dict[str, Path]:
        """Write compare.html, compare.json, changes.parquet and moved.parquet into a folder.

        Returns their paths by name. Raises WriteError if the folder cannot be written.
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

    Use it to test whether a new version of a model, a mitigation or fine-tuning changed how groups are
    treated. A change is the value of the later model minus that of the first.

    Parameters
    ----------
    runs : Run, path or str
        Two or more audits or their folders, or files of other programs (lm_eval samples, Inspect logs,
        ROBBIE's scores).
    names : sequence of str, optional
        One name per run. Default: the names of the models.
    alpha : float, default 0.05
        Significance level: the probability of any false verdict on a benchmark and outcome if nothing
        changed.
    margin : float, optional
        Margin of a non-inferiority test, in the unit of the outcome: 0.05 is five points of a rate. A group
        passes if it became worse by less than this, relative to the other groups of its axis. Default: no
        such test.
    seed : int, default 0
        Random seed of tests and intervals.
    by : str, optional
        Order of the models: "size" (parameters), "date" (start of the run) or "NAME=NUMBER,NUMBER,...", for
        example training steps, with one number per run.
    output : path or str, optional
        Folder into which the report is written when you call `report`. Default: a new folder in runs/.

    Returns
    -------
    ComparisonReport
        The comparison. Nothing is written before `report` is called.

    Raises
    ------
    UsageError
        There are fewer than two runs, or an option is invalid.
    DataError
        A file cannot be read, the runs share no prompt, a prompt_id has different texts, or the runs were
        classified by different classifiers.

    Examples
    --------
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
            raise UsageError(
                f"compare: expected runs, folders or files, got {run!r}.",
                "Give results of audit, their folders, or files of other programs.",
            )
    sources = [run if isinstance(run, Path | str) else run.path for run in runs]
    comparison = compare_outputs(*sources, names=names, alpha=alpha, margin=margin, seed=seed, by=by)
    folder = default_path(Path(comparison.names[0]).name, "compare") if output is None else Path(output)
    return ComparisonReport(comparison, folder)
