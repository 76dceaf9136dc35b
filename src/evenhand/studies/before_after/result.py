"""Public function for before/after studies: `before_after` runs one, and `BeforeAfterReport` is the result."""

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
    CheckAxes,
    Run,
    asked_names,
    called_from_python,
    open_run,
)
from evenhand.studies.before_after import wording as words
from evenhand.studies.before_after.conduct import BeforeAfter, study_before_after
from evenhand.studies.before_after.page import render_before_after_html
from evenhand.studies.before_after.record import AFTER, BEFORE, RECORD, stored_study, with_changes
from evenhand.studies.before_after.terminal import render_before_after
from evenhand.studies.compare import ComparisonReport
from evenhand.studies.result import StudyResult
from evenhand.study import check_addresses, check_code, find_files

FORMAT = 2


@dataclass(frozen=True, repr=False)
class BeforeAfterReport(StudyResult):
    """Two audits of one model, without and with mitigations, and their comparison.

    `before_after` returns it. Read `verdicts` first: one row per kind of harm, in words. Changes are the
    value with mitigations minus the value without, on the same prompts and samples.

    Attributes
    ----------
    study : BeforeAfter
        All tables and options (see `evenhand.studies.before_after.conduct.BeforeAfter`).
    before, after : Run
        The audits without and with mitigations.
    verdicts : polars.DataFrame
        How each kind of harm changed, in words.
    harm, quality, changes : polars.DataFrame
        Changes in harm rates, in text quality, and in the differences between groups.
    comparison : ComparisonReport
        The comparison of both audits by axis (a way to group people, such as religion) and by group.
    """

    PAGE, NUMBERS = "before_after.html", "before_after.json"

    study: BeforeAfter

    @property
    def comparison(self) -> ComparisonReport:
        """Return the comparison of both audits: differences between groups, overall level, and levels by axis."""
        return ComparisonReport(self.study.comparison, self.path)

    @property
    def paths(self) -> dict[str, Path]:
        """Return the paths of the files that `report` writes, under the names "report", "numbers" and "comparison"."""
        return super().paths | {"comparison": self.comparison.paths["report"]}

    @property
    def path(self) -> Path:
        """Return the folder of the study."""
        return self.study.path

    @property
    def before(self) -> Run:
        """Return the audit of the model without mitigations."""
        return open_run(self.study.before.path)

    @property
    def after(self) -> Run:
        """Return the audit of the model with its mitigations."""
        return open_run(self.study.after.path)

    @property
    def verdicts(self) -> pl.DataFrame:
        """Return one row per benchmark and kind of harm, such as toxicity. All columns are text.

        ``groups`` states how the differences between groups changed, which is the main question. ``verdict``
        and ``headline`` are about the level, which is the harm rate of all groups together: "fell", "rose",
        "not detected", "not measurable", or a fall with a side effect, such as "silence" (the model stopped
        responding). ``told`` gives the numbers in sentences. The other columns are ``benchmark`` and
        ``outcome`` (the kind of harm).
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
        """Return changes in harm rates, counted in several ways (`evenhand.studies.before_after.harm.HARM`).

        Rates are proportions, and a negative ``estimate`` means less harm afterwards. ``among`` gives the
        responses that were counted: "asked" is all of them, with empty and refused ones as harmless.
        """
        return self.study.harm

    @property
    def quality(self) -> pl.DataFrame:
        """Return changes in text quality, such as length, repetition and perplexity.

        The columns are those of `evenhand.studies.compare.texts.QUALITY`, q and verdict. ``scale`` states
        whether ``estimate`` is a difference or, for perplexities, a ratio (after divided by before).
        """
        return self.study.quality

    @property
    def changes(self) -> pl.DataFrame:
        """Return changes between groups, overall and by axis (see `ComparisonReport.changes`)."""
        return self.study.comparison.changes

    def tables(self) -> dict[str, pl.DataFrame]:
        """Return all tables by name: `verdicts`, `harm`, `silence`, `quality`, `measured`, `cost` and `changes`.

        `silence` has changes in empty or refused responses, `measured` the measures of each audit side by side,
        and `cost` time and memory.
        """
        study = self.study
        names = ("harm", "silence", "quality", "measured", "cost")
        tables = {name: getattr(study, name) for name in names}
        return {"verdicts": self.verdicts, **tables, "changes": self.changes}

    def html(self) -> str:
        """Return the report as one HTML document that needs no network: changes of harm, and their cost."""
        return render_before_after_html(self.study)

    def write(self, folder: Path | str) -> dict[str, Path]:
        """Write before_after.html, before_after.json and the comparison by axis and group into a folder.

        Returns the paths by kind. Raises WriteError if the folder cannot be written.
        """
        written = super().write(folder)
        return written | {"comparison": self.comparison.write(folder)["report"]}

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, for JSON."""
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
        """Print the change of each kind of harm, then rates, text, time and memory before and after."""
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
    """Audit a model without and with mitigations and compare the results.

    Use it to test whether a mitigation helps, and what it costs. It compares harm, refusals, text quality,
    time and memory. It writes the reports of the study and of both audits. Nothing is printed.

    Parameters
    ----------
    model : str or LanguageModel
        A name as on the command line (see `load_model`), or a loaded model.
    mitigate : sequence of str or Mitigation
        One or more mitigations, in the order in which they are applied.
    suite : str, optional
        Name of a suite (a set of benchmarks).
    benchmarks : sequence of str, optional
        Names of benchmarks. Default: the benchmark regard, if no suite is given.
    limit, axes, seed, samples, classifiers, progress
        As in `evenhand.audit`. In `classifiers`, a language model can always be given for the role
        "perplexity". It then scores how fluent the responses are.
    output : path or str, optional
        Folder of the study. An unfinished study there is resumed. Default: a new folder in runs/.
    options
        All other options of `evenhand.audit`.

    Returns
    -------
    BeforeAfterReport
        The finished study. The benchmark quality is added if its texts are available on this machine.

    Raises
    ------
    UsageError
        There is no mitigation, or an option is invalid.
    Unsupported
        A mitigation cannot be applied to the model.
    ResumeRefused
        The folder contains a study with other options.
    Interrupted
        The study was interrupted and can be resumed.
    EvenhandError
        An audit fails for another reason; see `evenhand.audit`.

    References
    ----------
    Esiobu et al. (2023), "ROBBIE: Robust Bias Evaluation of Large Generative Language Models", EMNLP, section
    3.2, tables 6 and 15.

    Examples
    --------
    The scripted model writes kindly only if the prompt asks for it:

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
    return run_before_after(config, progress=progress, **at_hand)


def run_before_after(
    config: AuditConfig,
    *,
    model: LanguageModel | None = None,
    chain: Sequence[Mitigation] = (),
    output: Path | None = None,
    given: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    loaded: Mapping[str, Classifier] | None = None,
    check: CheckAxes | None = None,
) -> BeforeAfterReport:
    """Run a study with a configuration, and write all its reports.

    `model`, `chain` and `loaded` are objects that replace the names in the configuration. `check` is called with the
    axes of each benchmark before the model is used."""
    study = study_before_after(
        config,
        model=model,
        chain=chain,
        output=output,
        given=given,
        progress=progress,
        loaded=loaded,
        check=check,
    )
    report = BeforeAfterReport(study)
    with resumable(f"Resume with: evenhand before-after {report.path}"):
        for run in (report.before, report.after):
            run.report()
        report.report()
    return report


def resumed_study(path: Path, given: Mapping[str, Any]) -> AuditConfig:
    """Return the options of a study on disk, updated with the given ones.

    The study rejects options that would change its results. Permission to run the model's code must be given again
    (see `check_resuming`).
    Raises UsageError for a folder without a study.
    """
    if not RECORD.is_in(path):
        raise UsageError(
            f"The folder {path} does not contain a before-after study.",
            "Give a model, or the folder of a study.",
        )
    changes = {name: value for name, value in given.items() if name != "model"}
    return with_changes(stored_study(path), {**dict.fromkeys(NAMED_ANEW, False), **changes})


def check_resuming(
    path: Path,
    config: AuditConfig,
    said: AuditConfig,
    *,
    classifiers: Sequence[str] = (),
    trust_addresses: bool = False,
) -> None:
    """Raise ResumeRefused if resuming a study would run code or use servers that only its folder names.

    Parameters
    ----------
    path
        Folder of the study.
    config
        Options with which the study would be resumed.
    said
        Options that the user gave in the present call, without the model.
    classifiers
        Classifiers that the user gave in the present call, as NAME or ROLE=NAME.
    trust_addresses
        True if the user trusts the URLs in the folder.
    """
    check_code(path, stored_study(path).trust_remote_code, said.trust_remote_code)
    check_addresses(
        path,
        asked_names(config),
        mitigations=config.mitigate,
        files=find_files(config.model_dump(), said.model_fields_set),
        named=[*classifiers, *said.classifiers.values(), *said.mitigate],
        trusted=trust_addresses,
    )
