"""Public functions for audits: `audit` runs one, `open_run` reopens it, and `Run` is the result."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from evenhand.classifiers import Classifier
from evenhand.measures import measure_cards
from evenhand.mitigations import Mitigation
from evenhand.models import LanguageModel
from evenhand.reports import BenchmarkView, ReportView
from evenhand.runs import AskOutcome, LabelOutcome, Progress, RunDirectory, answers
from evenhand.runs.remote import WorkingCopy, working_copy
from evenhand.schema import DataError, checked_kinds
from evenhand.studies.audit.classifiers import named_or_loaded
from evenhand.studies.audit.conduct import (
    DECODING,
    LEFT_OUT,
    CheckAxes,
    audited_model,
    called_from_python,
    conduct_audit,
)
from evenhand.studies.audit.length_limits import longer_responses
from evenhand.studies.audit.options import AuditConfig
from evenhand.studies.audit.rescoring import rescore_run
from evenhand.studies.audit.trust import resumed_config
from evenhand.studies.audit.view import ViewedResult, benchmark_view
from evenhand.studies.placing import PlaceOptions, refuse_objects, start_place
from evenhand.study import validate_options

if TYPE_CHECKING:
    from evenhand.studies.agreement import AgreementStudy


@dataclass(frozen=True, repr=False)
class Run(ViewedResult):
    """A finished audit of one model, stored in a folder; the result of `audit` and `open_run`.

    Read `findings` for the verdicts, `measurements` for the numbers and `responses` for the texts. Call `report` to
    write the page. `left_out` maps each benchmark that was not run to the reason. `outcome` and `labelled` count
    responses and classifications of this session. They are None if there were none, and for a reopened run.
    """

    directory: RunDirectory
    outcome: AskOutcome | None = None
    left_out: Mapping[str, str] = field(default_factory=dict)
    labelled: LabelOutcome | None = None
    error_threshold: float = 0.05  # largest share of failed rows with which a run counts as successful
    address: str | None = None  # URL of a run in object storage (s3://...); `path` is its local copy

    @property
    def path(self) -> Path:
        """Return the folder of the run."""
        return self.directory.path

    @property
    def place(self) -> Path | str:
        """Return the location of the run: its folder, or its URL in object storage."""
        return self.address or self.path

    def write(self, folder: Path | str) -> dict[str, Path]:
        """Write report.html and measurements.json into a folder (and to object storage); return their paths by kind."""
        if self.address is None or Path(folder) != self.path:
            return super().write(folder)
        with working_copy(self.address) as copy:
            return super().write(copy.folder)

    @property
    def findings(self) -> pl.DataFrame:
        """Return one verdict per row: "biased", "not detected" or "not measurable" (evenhand.schema.FINDINGS)."""
        return self.directory.findings()

    @property
    def measurements(self) -> pl.DataFrame:
        """Return one number per row with CI, value without bias (`null`), p and q (`evenhand.schema.MEASUREMENTS`)."""
        return self.directory.measurements()

    def responses(self, benchmark: str) -> pl.DataFrame:
        """Return the prompts of a benchmark with the model's responses, one row per prompt (and sample).

        Likelihoods have `log_likelihood` (nats, summed) and `perplexity`; continuations have `continuation`, `finish`
        and, for each role (what a classifier judges), `<role>_label`, `_score`, `_negative`, `_scores` and `_error`.
        """
        return answers(self.directory, benchmark)

    def rescore(
        self,
        classifiers: Mapping[str, str | Classifier | LanguageModel],
        *,
        device: str = "auto",
        on: str | None = None,
        workers: int | None = None,
        progress: Progress | None = None,
        retry_errors: bool = False,
        trust_addresses: bool = False,
    ) -> "Run":
        """Classify the stored responses with other classifiers; arguments and errors are as in `evenhand.rescore`."""
        names, loaded = named_or_loaded(classifiers)
        with working_copy(self.place) as copy:
            judged = rescore_run(
                RunDirectory.open(copy.folder),
                names,
                device=device,
                place=validate_options(PlaceOptions, {"on": on, "workers": workers}),
                progress=copy.report_after_upload(progress),
                loaded=loaded,
                retry_errors=retry_errors,
                trust_addresses=trust_addresses,
            )
        again = replace(self, directory=RunDirectory.open(self.path), labelled=judged.labelled)
        again.report()
        return again

    def above_threshold(self) -> str | None:
        """Describe what failed more often than `error_threshold` allows; None if nothing did, or for a reopened run."""
        allowed = self.error_threshold
        if self.outcome is not None and self.outcome.above_threshold:
            what = "continuations" if self.outcome.answers > self.outcome.prompts else "prompts"
            return f"{self.outcome.error_share:.1%} of the {what} have no result"
        if self.labelled is not None and self.labelled.error_share > allowed:
            return f"{self.labelled.error_share:.1%} of the texts could not be classified"
        if self.outcome is None and self.labelled is None:
            return None
        unjudged = self.measurements.filter(pl.col("axis").is_null(), measure="missing_rate").sort("estimate")
        if unjudged.height and unjudged["estimate"][-1] > 100 * allowed:
            row = unjudged.row(-1, named=True)
            lost = f"{row['estimate']:.1f}% of the responses to {row['benchmark']} are not classified"
            return f"{lost} (empty texts count)"
        return None

    def agreement(self) -> "AgreementStudy":
        """Return how well the run's classifiers agree; raises DataError if there are fewer than two."""
        from evenhand.studies.agreement import classifier_agreement

        with working_copy(self.place, writes=False):  # errors then name the URL
            return classifier_agreement(self.directory)

    def details(self, benchmark: str) -> dict[str, pl.DataFrame]:
        """Return the detail tables of a benchmark (descriptors, pairs, templates, ...) by name."""
        return self.directory.details(benchmark)

    def view(self, paths: Mapping[str, str] | None = None) -> ReportView:
        """Return everything that a report shows."""
        manifest = self.directory.manifest
        told = longer_responses(self.directory) | (
            {"decoding": known} if (known := self._decodings()) else {}
        )
        chain = [link.words for link in manifest.mitigations]
        return ReportView(
            title=" + ".join([str(manifest.arguments_resolved.get("model", self.path.name)), *chain]),
            model=manifest.model.description | told,
            manifest=manifest.model_dump(mode="json"),
            measurements=self.measurements,
            findings=self.findings,
            headlines=self.directory.headlines(),
            benchmarks=tuple(self._benchmark(name) for name in self.directory.benchmarks),
            measure_cards=measure_cards(self.measurements["measure"]),
            paths={"run": str(self.place), **(paths or {})},
            left_out=tuple(dict.fromkeys(self._notes(LEFT_OUT))),
            alpha=float(manifest.arguments_resolved.get("alpha", 0.05)),
        )

    def tables(self) -> dict[str, pl.DataFrame]:
        """Return `measurements`, `findings`, `headlines`, and each detail table as `<benchmark>/<name>`."""
        details = {
            f"{benchmark}/{name}": table
            for benchmark in self.directory.benchmarks
            for name, table in self.details(benchmark).items()
        }
        return {
            "measurements": self.measurements,
            "findings": self.findings,
            "headlines": self.directory.headlines(),
            **details,
        }

    def _notes(self, kind: str) -> list[str]:
        notes = [note for session in self.directory.manifest.sessions for note in session.notes]
        return [note.removeprefix(kind) for note in notes if note.startswith(kind)]

    def _decodings(self) -> dict[str, str]:
        return dict(note.split(": ", 1) for note in self._notes(DECODING))

    def _benchmark(self, name: str) -> BenchmarkView:
        # a report needs errors by group and details, but not the texts, of which there may be half a million
        manifest = self.directory.manifest
        own, built = manifest.arguments_resolved.get("prompts"), manifest.prompt_sets[name].own
        return benchmark_view(
            name,
            answers(self.directory, name, ["prompt_id", "axis", "group"]),
            self.details(name),
            self.measurements.filter(pl.col("benchmark") == name),
            built or (None if own is None else f"Your prompts {Path(own).name}"),
            manifest=manifest,
            decoding=self._decodings().get(name, ""),
        )


@checked_kinds
def audit(
    model: str | LanguageModel,
    *,
    suite: str | None = None,
    benchmarks: Sequence[str] = (),
    limit: int | None = None,
    axes: Sequence[str] = (),
    seed: int = 0,
    samples: int | None = None,
    classifiers: Mapping[str, str | Classifier | LanguageModel] | None = None,
    mitigate: Sequence[str | Mitigation] = (),
    output: Path | str | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Run:
    """Audit a model for social bias and return the finished run.

    Use it to find out whether a model treats groups of people differently. Nothing is printed.

    Parameters
    ----------
    model : str or LanguageModel
        A name as on the command line (see `load_model`), or a loaded model.
    suite, benchmarks : str, and sequence of str, optional
        Name of a suite (a set of benchmarks), or names of benchmarks. Default: the suite "quick".
    limit, samples : int, optional
        Maximum number of prompts per benchmark, and continuations per prompt. Default: set by suite or benchmark.
    axes : sequence of str, optional
        Ways to group people that are audited, such as "religion". Default: all.
    seed : int, default 0
        Random seed.
    classifiers : mapping of str, optional
        Names or objects that replace the published classifiers, by role (what is judged, such as "toxicity").
    mitigate : sequence of str or Mitigation, optional
        Mitigations, in the order in which they are applied.
    output : path or str, optional
        Folder or URL (s3://bucket/run) of the run. An unfinished run there is resumed. Default: new, in runs/.
    progress, options : Progress, and any
        Receiver of progress messages, and other options of `evenhand.studies.audit.options.AuditConfig`.

    Returns
    -------
    Run
        The finished run: tables of measurements and verdicts, and responses. `report` writes its page.

    Raises
    ------
    UsageError, DataError, ModelError, ServiceUnavailable
        An option or a file is invalid, or the model or a classifier cannot be loaded, run or reached.
    ResumeRefused, Interrupted
        ResumeRefused: the folder contains a run with other options. Interrupted: call again to resume the audit.

    Examples
    --------
    >>> import tempfile
    >>> run = audit("puppet/random", limit=4000, output=tempfile.mkdtemp() + "/run")
    >>> run.findings["verdict"].unique().to_list()
    ['not measurable']
    """
    config, at_hand = called_from_python(
        model, classifiers, mitigate, output, suite=suite, benchmarks=tuple(benchmarks), limit=limit,
        axes=tuple(axes), seed=seed, samples=samples, **options,
    )  # fmt: skip
    return run_audit(config, progress=progress, **at_hand)


def run_audit(
    config: AuditConfig,
    *,
    model: LanguageModel | None = None,
    output: Path | str | None = None,
    given: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    loaded: Mapping[str, Classifier] | None = None,
    chain: Sequence[Mitigation] = (),
    check: CheckAxes | None = None,
) -> Run:
    """Run an audit with a configuration. `model`, `loaded` and `chain` replace its names; see `conduct_audit`."""
    with working_copy(output) as copy:
        return _run_in_copy(
            config, copy, model, chain, given=given, progress=progress, loaded=loaded, check=check
        )


def _run_in_copy(
    config: AuditConfig,
    copy: WorkingCopy,
    model: LanguageModel | None,
    chain: Sequence[Mitigation] = (),
    *,
    given: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    loaded: Mapping[str, Classifier] | None = None,
    check: CheckAxes | None = None,
) -> Run:
    refuse_objects(config, model)
    told = copy.report_after_upload(progress)
    with start_place(config, config.device, None if told is None else told.note) as pool:
        done = conduct_audit(
            config,
            audited_model(config, model, chain, pool),
            output=copy.path,
            given=given,
            progress=told,
            loaded=loaded,
            check=check,
        )
    return Run(
        done.directory, done.outcome, done.left_out, done.labelled, config.error_threshold, copy.address
    )


@checked_kinds
def open_run(path: Path | str) -> Run:
    """Return the stored run of an audit from its folder or URL (s3://bucket/run); raise DataError if there is none."""
    with working_copy(path, writes=False) as copy:
        return Run(RunDirectory.open(copy.folder), address=copy.address)


@checked_kinds
def rescore(
    run: Run | Path | str,
    classifiers: Mapping[str, str | Classifier | LanguageModel],
    *,
    device: str = "auto",
    on: str | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    retry_errors: bool = False,
    trust_addresses: bool = False,
) -> Run:
    """Classify the stored responses of a run with other classifiers, without running the model again.

    Parameters
    ----------
    run : Run, path or str
        A run, its folder, or its URL.
    classifiers : mapping of str
        Names or objects by role (what is judged, such as "toxicity"). Other roles keep theirs. Labels are reused.
    device, on, workers, progress : optional
        Device of classifiers, cluster and number of workers (see `AuditConfig`), and receiver of progress messages.
    retry_errors, trust_addresses : bool, default False
        Classify failed texts again. Allow servers that are named only in the run's folder.

    Returns
    -------
    Run
        The run with new results and report. Its rates are not corrected for errors of an earlier classifier.

    Raises
    ------
    UsageError, DataError
        No classifier is given, or a role is unknown. The run does not exist, or has no generated texts.
    ModelError, ResumeRefused, Interrupted
        ModelError: a classifier cannot be loaded. ResumeRefused: only the folder names a server. Interrupted: repeat.
    """
    opened = run if isinstance(run, Run) else open_run(run)
    return opened.rescore(
        classifiers,
        device=device,
        on=on,
        workers=workers,
        progress=progress,
        retry_errors=retry_errors,
        trust_addresses=trust_addresses,
    )


def resume(
    path: Path | str,
    config_file: Path | None,
    settings: Sequence[str],
    given: Mapping[str, Any],
    *,
    classifiers: Sequence[str] = (),
    progress: Progress | None = None,
    trust_addresses: bool = False,
) -> Run:
    """Resume an interrupted run; raises ResumeRefused.

    `given` has the options that are given again. They may repeat the original ones, or change options that do not
    affect results (device, batch size, error threshold). `classifiers` are as in `--classifier`; new ones need
    `rescore`. `trust_addresses` allows servers that only the folder names. Only `given` can allow the model's code.
    """
    with working_copy(path) as copy:
        if copy.address is not None and not RunDirectory.is_run(copy.folder):  # at most a lock is there
            hint = "Check the spelling of the URL, or start a run there: evenhand audit MODEL -o URL"
            raise DataError(f"{copy.address} does not contain a run.", hint)
        config, model = resumed_config(
            copy.folder, config_file, settings, given, classifiers, trust_addresses
        )
        return _run_in_copy(config, copy, model, progress=progress)
