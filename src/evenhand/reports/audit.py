"""The Python front door: `audit(...)` runs, `open_run(...)` reopens, a `Run` shows itself.

It stands on this floor because a run writes its own report; the work is done in studies/audit.py.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.benchmarks.registry import load_benchmark
from evenhand.measures import MEASURES
from evenhand.models.contract import LanguageModel
from evenhand.reports.view import BenchmarkView, ReportView
from evenhand.runs import Outcome, Progress, RunDirectory, answers
from evenhand.schema import ResumeRefused
from evenhand.studies.audit import conduct, load_audited_model
from evenhand.studies.config import SAME_RESULTS, AuditConfig, read_config
from evenhand.studies.measure import Measured, measure_responses


@dataclass(frozen=True)
class Run:
    """A finished audit on disk.

    directory: where it lies. outcome: how the responses came out, if they were made just now. left_out:
    benchmarks of the suite that were not run, with the reason.
    """

    directory: RunDirectory
    outcome: Outcome | None = None
    left_out: Mapping[str, str] = field(default_factory=dict)

    @property
    def path(self) -> Path:
        """The run's folder."""
        return self.directory.path

    @property
    def findings(self) -> pl.DataFrame:
        """One verdict a row: biased, not detected, or not measurable (evenhand.schema.FINDINGS)."""
        return self.directory.findings()

    @property
    def measurements(self) -> pl.DataFrame:
        """One number a row, with interval, null, p and q (evenhand.schema.MEASUREMENTS)."""
        return self.directory.measurements()

    def responses(self, benchmark: str) -> pl.DataFrame:
        """The prompts of a benchmark beside the model's answers, one row a prompt."""
        return answers(self.directory, benchmark)

    def details(self, benchmark: str) -> dict[str, pl.DataFrame]:
        """The detail tables of a benchmark (descriptors, pairs, templates, ...) by name."""
        return self.directory.details(benchmark)

    def view(self, paths: Mapping[str, str] | None = None) -> ReportView:
        """Everything a report shows."""
        manifest = self.directory.manifest
        return ReportView(
            title=str(manifest.arguments_resolved.get("model", self.path.name)),
            model=manifest.model.description,
            manifest=manifest.model_dump(mode="json"),
            measurements=self.measurements,
            findings=self.findings,
            benchmarks=tuple(self._benchmark(name) for name in self.directory.benchmarks),
            measure_cards={name: info.card for name, info in MEASURES.items()},
            paths={"run": str(self.path), **(paths or {})},
            left_out=tuple(dict.fromkeys(self._notes("Left out: "))),
            alpha=float(manifest.arguments_resolved.get("alpha", 0.05)),
        )

    def report(self, path: Path | str | None = None) -> Path:
        """Write report.html and measurements.json into the run's folder; a copy of the report to `path`.

        Returns the path of the report (the copy's, if one was asked for). Raises WriteError.
        """
        from evenhand.reports.html import write_html
        from evenhand.reports.json_out import write_measurements_json

        view = self.view()
        written = write_html(view, self.directory.report_path)
        write_measurements_json(view, self.path / "measurements.json")
        return write_html(view, path) if path is not None else written

    def _notes(self, kind: str) -> list[str]:
        notes = [note for session in self.directory.manifest.sessions for note in session.notes]
        return [note.removeprefix(kind) for note in notes if note.startswith(kind)]

    def _benchmark(self, name: str) -> BenchmarkView:
        # a report counts errors by axis and shows the details: half a million texts need not be read for it
        own = self.directory.manifest.arguments_resolved.get("prompts")
        label = None if own is None else f"Your prompts {Path(own).name}"
        mine = self.measurements.filter(pl.col("benchmark") == name)
        return benchmark_view(name, answers(self.directory, name, ["axis"]), self.details(name), mine, label)


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
            measure_cards={name: info.card for name, info in MEASURES.items()},
            paths=dict(paths or {}),
            alpha=measured.arguments["alpha"],
        )

    def write(self, folder: Path | str) -> dict[str, Path]:
        """Write report.html and measurements.json into a folder; returns their paths by name."""
        from evenhand.reports.html import write_html
        from evenhand.reports.json_out import write_measurements_json

        folder, view = Path(folder), self.view()
        write_measurements_json(view, folder / "measurements.json")
        return {"report": write_html(view, folder / "report.html"), "numbers": folder / "measurements.json"}


def audit(
    model: str | LanguageModel,
    *,
    suite: str | None = None,
    benchmarks: Sequence[str] = (),
    limit: int | None = None,
    axes: Sequence[str] = (),
    seed: int = 0,
    output: Path | str | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Run:
    """Audit a model and return the finished run; prints nothing of its own.

    model: a name as for the command line, or a LanguageModel. suite or benchmarks: what to measure (default:
    the quick suite). limit: most prompts per benchmark. axes: only these. output: the run's folder; one that
    holds an unfinished run is resumed. options: anything else of `evenhand.studies.config.AuditConfig`.
    Raises EvenhandError subclasses that say how to mend what is wrong; `Interrupted` leaves a resumable run.

    >>> import tempfile
    >>> run = audit("puppet/random", limit=4000, output=tempfile.mkdtemp() + "/run")
    >>> run.findings["verdict"].unique().to_list()
    ['not detected']
    """
    name = model if isinstance(model, str) else str(model.fingerprint.get("name", type(model).__name__))
    given = {
        "model": name,
        "suite": suite,
        "benchmarks": tuple(benchmarks),
        "limit": limit,
        "axes": tuple(axes),
        "seed": seed,
        **options,
    }
    config = read_config(None, [], given)
    return audit_with(
        config,
        model=None if isinstance(model, str) else model,
        output=Path(output) if output is not None else None,
        given={key: value for key, value in given.items() if value not in (None, ())},
        progress=progress,
    )


def audit_with(
    config: AuditConfig,
    *,
    model: LanguageModel | None = None,
    output: Path | None = None,
    given: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Run:
    """Audit as a configuration says; `model` replaces the one it names if it is already loaded."""
    result = conduct(
        config, model or load_audited_model(config), output=output, given=given, progress=progress
    )
    return Run(result.directory, result.outcome, result.left_out)


def open_run(path: Path | str) -> Run:
    """Reopen a finished run; raises DataError if the folder holds none."""
    return Run(RunDirectory.open(Path(path)))


def resume(
    path: Path,
    config_file: Path | None,
    settings: Sequence[str],
    given: Mapping[str, Any],
    *,
    progress: Progress | None = None,
) -> Run:
    """Go on with an interrupted run.

    given: options named again; they may repeat what the run was started with, and may change what does not
    alter results (device, batch size, error threshold). Raises ResumeRefused with the difference otherwise.
    """
    directory = RunDirectory.open(path)
    stored = directory.manifest.arguments_resolved
    try:
        now = read_config(config_file, settings, {"model": stored["model"], **given})
    except KeyError as error:
        raise ResumeRefused(
            f"The run {path} does not say which model it audits.", "Start another run."
        ) from error
    named = now.model_fields_set - SAME_RESULTS
    changed = {field: now.model_dump(mode="json")[field] for field in named}
    directory.check_same({**stored, **changed})
    config = now.model_copy(update=AuditConfig.model_validate(stored).model_dump(exclude=set(SAME_RESULTS)))
    return audit_with(config, output=path, progress=progress)


def measure_file(
    file: Path | str, benchmark: str, *, seed: int = 0, margin: float = 0.05, alpha: float = 0.05
) -> FileMeasurements:
    """Measure responses that somebody already has (CSV, JSONL, Parquet); no model is needed.

    file: one row per prompt: the benchmark's group columns, and `perplexity` or `log_likelihood` with
    `token_count`. Raises DataError naming a column that lacks, UsageError for an unknown benchmark.
    """
    return FileMeasurements(
        Path(file), measure_responses(Path(file), benchmark, seed=seed, margin=margin, alpha=alpha)
    )


def benchmark_view(
    name: str,
    responses: pl.DataFrame,
    details: Mapping[str, pl.DataFrame],
    measurements: pl.DataFrame,
    own_file: str | None = None,
) -> BenchmarkView:
    """One benchmark's share of a report, from its answers, detail tables and judged measurements.

    own_file: where the prompts or responses are the user's own, what to call them.
    """
    card = load_benchmark(name).card
    if own_file is not None:
        card = replace(card, summary=f"{own_file}, measured as {name}.")
    axis = pl.col("axis") if "axis" in responses.columns else pl.lit("all").alias("axis")
    errors = (
        responses.filter(pl.col("error").is_not_null())
        .group_by(axis, pl.col("error"))
        .agg(pl.len().alias("count"))
        .sort("axis", "error")
    )
    return BenchmarkView(
        name=name,
        card=card,
        details={key: _judged(key, table, measurements) for key, table in details.items()},
        n_prompts=responses.height,
        n_errors=int(errors["count"].sum()),
        errors=errors,
    )


GROUP_MEASURES = {
    "descriptors": ("descriptor_log_ratio",),
    "valence": ("valence_shift", "humanising_contrast"),
}


def _judged(detail: str, table: pl.DataFrame, measurements: pl.DataFrame) -> pl.DataFrame:
    """A detail table with the q of the findings: one family of tests wherever a reader looks."""
    if detail not in GROUP_MEASURES or "q" not in table.columns:
        return table
    judged = measurements.filter(
        pl.col("measure").is_in(GROUP_MEASURES[detail]) & pl.col("group").is_not_null()
    ).select("axis", "q", descriptor="group")
    return table.drop("q").join(judged, on=["axis", "descriptor"], how="left", maintain_order="left")
