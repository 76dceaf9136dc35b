"""The front door of audits: `audit(...)` runs one, `open_run(...)` reopens it, a `Run` shows itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.benchmarks import load_benchmark
from evenhand.classifiers import Classifier
from evenhand.measures import measure_cards
from evenhand.mitigations import Mitigation
from evenhand.models import LanguageModel
from evenhand.reports import BenchmarkView, ReportView
from evenhand.runs import AskOutcome, LabelOutcome, Progress, RunDirectory, answers
from evenhand.runs.remote import WorkingCopy, working_copy
from evenhand.schema import DataError, ModelError, UsageError, checked_kinds
from evenhand.studies.agreement import AgreementStudy, classifier_agreement
from evenhand.studies.audit.classifiers import named_by_role, named_or_loaded
from evenhand.studies.audit.conduct import (
    DECODING,
    LEFT_OUT,
    CheckAxes,
    audited_model,
    called_from_python,
    check_options,
    conduct_audit,
)
from evenhand.studies.audit.longer import longer_responses
from evenhand.studies.audit.options import NAMED_ANEW, SAME_RESULTS, AuditConfig, read_config, stored_config
from evenhand.studies.audit.rescoring import rescore_run
from evenhand.studies.audit.trust import asked_names, check_addresses, check_code, files_of
from evenhand.studies.audit.view import ViewedResult, benchmark_view
from evenhand.studies.model_options import load_named_model
from evenhand.studies.options import validated
from evenhand.studies.placing import PlaceOptions, placed, refuse_objects


@dataclass(frozen=True, repr=False)
class Run(ViewedResult):
    """A finished audit on disk.

    outcome, labelled: of this session, if any. left_out: benchmarks that were not run, with the reason."""

    directory: RunDirectory
    outcome: AskOutcome | None = None
    left_out: Mapping[str, str] = field(default_factory=dict)
    labelled: LabelOutcome | None = None
    error_threshold: float = 0.05
    """Largest share of failed rows that still counts as a good run."""
    address: str | None = None  # of a run in object storage (s3://...); `path` is its local copy

    @property
    def path(self) -> Path:
        """The run's folder."""
        return self.directory.path

    @property
    def place(self) -> Path | str:
        """Where the run is: the folder, or the address on a store."""
        return self.address or self.path

    def write(self, folder: Path | str) -> dict[str, Path]:
        """Write report.html and measurements.json into a folder (and to the store of the run); return their paths."""
        if self.address is None or Path(folder) != self.path:
            return super().write(folder)
        with working_copy(self.address) as copy:
            return super().write(copy.folder)

    @property
    def findings(self) -> pl.DataFrame:
        """One verdict a row: biased, not detected, or not measurable (evenhand.schema.FINDINGS)."""
        return self.directory.findings()

    @property
    def measurements(self) -> pl.DataFrame:
        """One number a row, with interval, null, p and q (evenhand.schema.MEASUREMENTS)."""
        return self.directory.measurements()

    def responses(self, benchmark: str) -> pl.DataFrame:
        """The prompts of a benchmark beside the model's answers, one row a prompt.

        Of continuations one row a prompt and sample: `continuation`, `finish`, and for each role that judges
        `<role>_label`, `<role>_score`, `<role>_negative`, `<role>_scores`, `<role>_error`.
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
        """Judge the continuations anew, measure them again, and rewrite the report; no model is asked.

        classifiers: by role, names or classifiers; a role that is not named keeps its own. Earlier labels stay:
        a classifier named again is not asked again. on, workers: a cluster whose workers judge, see `AuditConfig`.
        trust_addresses: ask servers that only the run's folder names.
        Returns the run as it is now. Raises UsageError, DataError, ModelError, Interrupted as
        `evenhand.studies.audit.rescoring.rescore_run` does.
        """
        names, loaded = named_or_loaded(classifiers)
        with working_copy(self.place) as copy:
            judged = rescore_run(
                RunDirectory.open(copy.folder),
                names,
                device=device,
                place=validated(PlaceOptions, {"on": on, "workers": workers}),
                progress=copy.telling(progress),
                loaded=loaded,
                retry_errors=retry_errors,
                trust_addresses=trust_addresses,
            )
        again = replace(self, directory=RunDirectory.open(self.path), labelled=judged.labelled)
        again.report()
        return again

    def above_threshold(self) -> str | None:
        """What failed more often than the run's threshold allows, in a few words; None where nothing did, and for
        a run that was opened again."""
        allowed = self.error_threshold
        if self.outcome is not None and self.outcome.above_threshold:
            what = "continuations" if self.outcome.answers > self.outcome.prompts else "prompts"
            return f"{self.outcome.error_share:.1%} of the {what} have no number"
        if self.labelled is not None and self.labelled.error_share > allowed:
            return f"{self.labelled.error_share:.1%} of the texts could not be judged"
        if self.outcome is None and self.labelled is None:
            return None
        unjudged = self.measurements.filter(pl.col("axis").is_null(), measure="missing_rate").sort("estimate")
        if unjudged.height and unjudged["estimate"][-1] > 100 * allowed:
            row = unjudged.row(-1, named=True)
            lost = f"{row['estimate']:.1f}% of the responses to {row['benchmark']} have no judgement"
            return f"{lost} (empty texts count)"
        return None

    def agreement(self) -> AgreementStudy:
        """How far the classifiers that have judged this run agree; raises DataError if none has a second."""
        with working_copy(self.place, writes=False):  # errors name the store
            return classifier_agreement(self.directory)

    def details(self, benchmark: str) -> dict[str, pl.DataFrame]:
        """The detail tables of a benchmark (descriptors, pairs, templates, ...) by name."""
        return self.directory.details(benchmark)

    def view(self, paths: Mapping[str, str] | None = None) -> ReportView:
        """Everything a report shows."""
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
        """`measurements`, `findings`, `headlines`, and each detail table as `<benchmark>/<name>`."""
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
        # a report counts errors by group and shows the details: half a million texts need not be read for it
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
    """Audit a model and return the finished run; prints nothing of its own.

    model: a name as for the command line, or a LanguageModel. suite or benchmarks: what to measure (default:
    the quick suite). limit: most prompts per benchmark. axes: only these. samples: continuations a prompt, where
    they are written. classifiers: who judges these in place of the published classifier, by role: a name or a
    Classifier. mitigate: what stands in front of the model, the first applied first: names or mitigations. output:
    the run's folder, or its address on a store (s3://bucket/run); an unfinished run there is resumed. options: all of
    `evenhand.studies.audit.options.AuditConfig`.
    Raises EvenhandError subclasses that say how to mend what is wrong; `Interrupted` leaves a resumable run.

    >>> import tempfile
    >>> run = audit("puppet/random", limit=4000, output=tempfile.mkdtemp() + "/run")
    >>> run.findings["verdict"].unique().to_list()
    ['not measurable']
    """
    config, at_hand = called_from_python(
        model,
        classifiers,
        mitigate,
        output,
        suite=suite,
        benchmarks=tuple(benchmarks),
        limit=limit,
        axes=tuple(axes),
        seed=seed,
        samples=samples,
        **options,
    )
    return audit_with(config, progress=progress, **at_hand)


def audit_with(
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
    """Audit as a configuration says. `model`, `loaded` and `chain` replace those that it names; see `conduct_audit`."""
    with working_copy(output) as copy:
        return _audited(
            config, copy, model, chain, given=given, progress=progress, loaded=loaded, check=check
        )


def _audited(
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
    told = copy.telling(progress)
    with placed(config, config.device, None if told is None else told.note) as pool:
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
    """Reopen a finished run, in a folder or on a store (s3://bucket/run); raises DataError if there is none."""
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
    """Judge an old run anew by other classifiers, without touching its continuations: see `Run.rescore`.

    run: a run, its folder, or its address on a store.
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
    """Go on with an interrupted run.

    given: options named again; they may repeat what the run was started with, and may change what does not
    alter results (device, batch size, error threshold). classifiers: as `--classifier` takes them; other ones
    than the run's need `rescore`. trust_addresses: ask servers that only the folder names (see
    `evenhand.studies.audit.trust`). Code that comes with the model is run only if `given` says so again. Raises
    ResumeRefused with the difference otherwise.
    """
    with working_copy(path) as copy:
        if copy.address is not None and not RunDirectory.is_run(copy.folder):  # at most a lock lies there
            hint = "Look at how it is spelt, or start it as before: evenhand audit MODEL -o and the address."
            raise DataError(f"{copy.address} does not contain a run.", hint)
        config, model = _gone_on_with(copy.folder, config_file, settings, given, classifiers, trust_addresses)
        return _audited(config, copy, model, progress=progress)


def _gone_on_with(
    path: Path,
    config_file: Path | None,
    settings: Sequence[str],
    given: Mapping[str, Any],
    classifiers: Sequence[str],
    trust_addresses: bool,
) -> tuple[AuditConfig, LanguageModel | None]:
    directory = RunDirectory.open(path)
    stored = stored_config(directory.manifest.arguments_resolved, path)
    now = read_config(config_file, settings, {"model": stored.model, **given})
    named = {name: getattr(now, name) for name in now.model_fields_set - SAME_RESULTS}
    recipes = [load_benchmark(name) for name in directory.benchmarks]
    judges = {**named.pop("classifiers", {}), **named_by_role(classifiers, recipes)}
    repeated = stored.model_copy(update={**named, "classifiers": {**stored.classifiers, **judges}})
    check_options(directory, repeated)
    # What a file of options says is no word of the user's.
    said = read_config(None, settings, {"model": stored.model, **given})
    check_code(path, stored.trust_remote_code, said.trust_remote_code)
    # What is named again is what is stored, or it would have been refused.
    check_addresses(
        path,
        asked_names(stored),
        mitigations=stored.mitigate,
        files=files_of(stored.model_dump(), said.model_fields_set),
        named=[*classifiers, *said.classifiers.values(), *said.mitigate],
        trusted=trust_addresses,
    )
    kept = set(stored.same_results()) - NAMED_ANEW
    config = now.model_copy(update={name: getattr(stored, name) for name in kept})
    try:
        return config, None if config.on is not None else load_named_model(config)
    except (ModelError, UsageError) as error:
        raise type(error)(
            error.message,
            f"{error.hint or ''} If the model was an object in memory, the command line cannot load it. Resume in "
            f"Python with eh.audit(model, ..., output='{path}'). For a finished run, "
            f"eh.open_run('{path}').report() writes the report.".strip(),
        ) from error
