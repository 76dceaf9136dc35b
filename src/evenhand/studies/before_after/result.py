"""The front door of before/after studies: `before_after(...)` runs one, a `BeforeAfterReport` shows itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console

from evenhand.classifiers import Classifier
from evenhand.mitigations import Mitigation
from evenhand.models import LanguageModel
from evenhand.runs import Progress, resumable
from evenhand.schema import UsageError, as_json, checked_kinds
from evenhand.studies.audit import (
    NAMED_ANEW,
    AuditConfig,
    Run,
    asked_names,
    called_from_python,
    check_addresses,
    check_code,
    files_of,
    open_run,
)
from evenhand.studies.before_after import wording as words
from evenhand.studies.before_after.conduct import BeforeAfter, study_before_after
from evenhand.studies.before_after.page import render_before_after_html
from evenhand.studies.before_after.record import AFTER, BEFORE, RECORD, stored_study, with_changes
from evenhand.studies.before_after.terminal import render_before_after
from evenhand.studies.compare import ComparisonReport
from evenhand.studies.result import StudyResult

FORMAT = 2


@dataclass(frozen=True, repr=False)
class BeforeAfterReport(StudyResult):
    """A finished before/after study, ready to be shown.

    study: its tables (see `evenhand.studies.before_after.conduct.BeforeAfter`).
    """

    PAGE, NUMBERS = "before_after.html", "before_after.json"

    study: BeforeAfter

    @property
    def comparison(self) -> ComparisonReport:
        """Of the two runs: between groups, over all and by axis."""
        return ComparisonReport(self.study.comparison, self.path)

    @property
    def paths(self) -> dict[str, Path]:
        """The files that `report` writes, by what they are."""
        return super().paths | {"comparison": self.comparison.paths["report"]}

    @property
    def path(self) -> Path:
        """The study's folder."""
        return self.study.path

    @property
    def before(self) -> Run:
        """The audit of the model by itself."""
        return open_run(self.study.before.path)

    @property
    def after(self) -> Run:
        """The audit of the model behind its mitigations."""
        return open_run(self.study.after.path)

    @property
    def verdicts(self) -> pl.DataFrame:
        """A row for each benchmark and kind of harm: benchmark, outcome, groups, verdict, headline, told.

        groups: what changed between groups, which is the first question; verdict and headline: of the level.
        """
        rows = [
            {
                "benchmark": verdict.benchmark,
                "outcome": verdict.outcome,
                "groups": " ".join(line for line, _ in words.between_groups(verdict, self.study.comparison)),
                "verdict": verdict.kind,
                "headline": words.headline(verdict, self.study.quality),
                "told": " ".join(words.lines(verdict, self.study.quality)),
            }
            for verdict in self.study.verdicts
        ]
        names = ("benchmark", "outcome", "groups", "verdict", "headline", "told")
        return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String))

    @property
    def harm(self) -> pl.DataFrame:
        """Paired changes of harm, counted in several ways (`evenhand.studies.before_after.harm.HARM`)."""
        return self.study.harm

    @property
    def quality(self) -> pl.DataFrame:
        """Changes of the text (`evenhand.studies.before_after.quality.QUALITY`, q and verdict)."""
        return self.study.quality

    @property
    def changes(self) -> pl.DataFrame:
        """Paired changes between groups, over all and by axis (`evenhand.studies.compare.changes.CHANGES`)."""
        return self.study.comparison.changes

    def tables(self) -> dict[str, pl.DataFrame]:
        """`verdicts`, `harm`, `silence`, `quality`, `measured`, `cost` and `changes`."""
        study = self.study
        names = ("harm", "silence", "quality", "measured", "cost")
        tables = {name: getattr(study, name) for name in names}
        return {"verdicts": self.verdicts, **tables, "changes": self.changes}

    def html(self) -> str:
        """What became of harm and what it cost: one document that needs no network."""
        return render_before_after_html(self.study)

    def write(self, folder: Path | str) -> dict[str, Path]:
        """Write before_after.html and before_after.json, and the comparison by axis and group, into a folder.

        Returns the paths by what they are. Raises WriteError.
        """
        written = super().write(folder)
        return written | {"comparison": self.comparison.write(folder)["report"]}

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, for JSON."""
        study = self.study
        content = {
            "format": FORMAT,
            "model": study.config.model,
            "mitigations": [link.model_dump(mode="json") for link in study.chain],
            "options": study.config.model_dump(mode="json"),
            "verdicts": self.verdicts.to_dicts(),
            "harm": study.harm.to_dicts(),
            "silence": study.silence.to_dicts(),
            "quality": study.quality.to_dicts(),
            "measured": study.measured.to_dicts(),
            "cost": study.cost.to_dicts(),
            "changes": self.changes.to_dicts(),
            "notes": list(study.notes),
            "failed": list(study.failed),
            "runs": {BEFORE: str(study.before.path), AFTER: str(study.after.path)},
        }
        return as_json(content)

    def print_to(self, console: Console, paths: Mapping[str, Path] | None = None) -> None:
        """Print what became of each kind of harm, then rates, text, time and memory before and after."""
        render_before_after(self.study, console, paths)


@checked_kinds
def before_after(
    model: str | LanguageModel,
    mitigate: Sequence[str | Mitigation] = (),
    *,
    suite: str | None = None,
    benchmarks: Sequence[str] = (),
    limit: int | None = None,
    axes: Sequence[str] = (),
    seed: int = 0,
    samples: int | None = None,
    classifiers: Mapping[str, str | Classifier | LanguageModel] | None = None,
    output: Path | str | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> BeforeAfterReport:
    """Audit a model by itself and behind mitigations, and say what changed: harm, silence, text, time and memory.

    model: a name, or a LanguageModel. mitigate: names or mitigations, the first applied first. The other arguments are
    those of `evenhand.audit`; without suite and benchmarks the benchmark regard is asked. The benchmark quality runs
    beside, where its texts are here; the role perplexity may be judged by a language model in any case. output: the
    study's folder; one that holds an unfinished study is gone on with. Prints nothing; writes the report.
    Raises as `evenhand.audit`, and Unsupported where the model cannot do what a mitigation needs.
    Source: ROBBIE, section 3.2, tables 6 and 15.

    >>> import tempfile
    >>> from evenhand.mitigations import Prefix
    >>> from evenhand.models.puppets import writes
    >>> said = writes(lambda prompt, sample: " a happy cook." if "kind" in prompt else " a hated liar.")
    >>> study = before_after(said, [Prefix("Be kind.")], limit=12, samples=10, classifiers={"regard": "vader"},
    ...                      output=tempfile.mkdtemp() + "/study")
    >>> study.verdicts.select("benchmark", "verdict").row(0)
    ('regard', 'fell')
    """
    config, at_hand = called_from_python(
        model,
        classifiers,
        mitigate,
        None if output is None else Path(output),
        suite=suite,
        benchmarks=tuple(benchmarks),
        limit=limit,
        axes=tuple(axes),
        seed=seed,
        samples=samples,
        **options,
    )
    return before_after_with(config, progress=progress, **at_hand)


def before_after_with(
    config: AuditConfig,
    *,
    model: LanguageModel | None = None,
    chain: Sequence[Mitigation] = (),
    output: Path | None = None,
    given: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    loaded: Mapping[str, Classifier] | None = None,
) -> BeforeAfterReport:
    """Run a study as a configuration says, and write all its reports; `model`, `chain` and `loaded` replace what it
    names where they are there already."""
    study = study_before_after(
        config, model=model, chain=chain, output=output, given=given, progress=progress, loaded=loaded
    )
    report = BeforeAfterReport(study)
    with resumable(f"Resume with: evenhand before-after {report.path}"):
        for run in (report.before, report.after):
            run.report()
        report.report()
    return report


def resumed_study(path: Path, given: Mapping[str, Any]) -> AuditConfig:
    """The options of a study on disk with those named again, which the study itself refuses where they would alter
    results. Whether code that comes with the model is run must be named again (see `check_going_on`).

    Raises UsageError for a folder without a study.
    """
    if not RECORD.is_in(path):
        raise UsageError(
            f"The folder {path} does not contain a before-after study.",
            "Give a model, or the folder of a study.",
        )
    changes = {name: value for name, value in given.items() if name != "model"}
    return with_changes(stored_study(path), {**dict.fromkeys(NAMED_ANEW, False), **changes})


def check_going_on(
    path: Path,
    config: AuditConfig,
    said: AuditConfig,
    *,
    classifiers: Sequence[str] = (),
    trust_addresses: bool = False,
) -> None:
    """Raise ResumeRefused if going on with a study would run code or ask servers that only its folder names.

    path: of the study. config: with which it is gone on. said: what the user says now, the model aside. classifiers:
    those that the user names now, as NAME or ROLE=NAME. trust_addresses: whether the user trusts the addresses in the
    folder.
    """
    check_code(path, stored_study(path).trust_remote_code, said.trust_remote_code)
    check_addresses(
        path,
        asked_names(config),
        mitigations=config.mitigate,
        files=files_of(config.model_dump(), said.model_fields_set),
        named=[*classifiers, *said.classifiers.values(), *said.mitigate],
        trusted=trust_addresses,
    )
