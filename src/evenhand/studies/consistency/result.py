"""Public function for the consistency check: `check_consistency` runs it, and `Checked` is the result."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console

from evenhand.classifiers import Classifier
from evenhand.measures.changes import Decision
from evenhand.mitigations import Mitigation, load_mitigation
from evenhand.models import LanguageModel
from evenhand.runs import Progress
from evenhand.schema import as_json, checked_kinds
from evenhand.studies.consistency.conduct import ConsistencyStudy, study_consistency
from evenhand.studies.consistency.options import CheckOptions
from evenhand.studies.consistency.page import render_consistency_page
from evenhand.studies.consistency.plan import preview
from evenhand.studies.consistency.study import CONSISTENCY
from evenhand.studies.consistency.terminal import render_check_plan, render_consistency
from evenhand.studies.missing_classifiers import load_only_classifier
from evenhand.studies.model_options import load_named_model
from evenhand.studies.result import StudyResult
from evenhand.study import Call, with_options

FORMAT = 2


@dataclass(frozen=True, repr=False)
class Checked(StudyResult):
    """A finished consistency check of one mitigation; the result of `check_consistency`.

    It answers whether the wording of the mitigation matters, or whether any text would help. Read `decisions`
    first: the outcome of each test, with the reason.

    Attributes
    ----------
    study : ConsistencyStudy
        Options, prompts and all results (see `evenhand.studies.consistency.conduct.ConsistencyStudy`).
    decisions : list of Decision
        Outcome of each test under the chosen rule.
    findings, table, boundaries, nonsense, scores : polars.DataFrame
        Decisions under all rules, and the numbers behind them.

    Notes
    -----
    The model was run without the mitigation and with several wordings of it. These conditions are called
    levels: "default" (no mitigation), "original", "opposite", "nonsensical" and "blank". A domain is a set of
    prompts, "adversarial" or "neutral".
    """

    PAGE, NUMBERS = "consistency.html", "consistency.json"

    study: ConsistencyStudy

    @property
    def path(self) -> Path:
        """Return the folder of the study."""
        return self.study.path

    @property
    def above_threshold(self) -> str | None:
        """Return a text on responses or classifications that failed more often than allowed; None if none did."""
        return self.study.above_threshold

    @property
    def decisions(self) -> list[Decision]:
        """Return the outcome of each test under the chosen rule, with the reason.

        The tests are effect, polarity and importance in each domain, and transfer (see `check_consistency`).
        Outcomes are "passes", "fails", "not decided" and "not applicable".
        """
        return self.study.checklists[self.study.options.rule]

    @property
    def findings(self) -> pl.DataFrame:
        """Return one row per decision rule, test and domain.

        The rules are "tested", "strict" and "paper" (`evenhand.measures.changes.decide` describes them).
        Columns: ``rule``, ``test``, ``domain`` (null for transfer, which concerns both), ``outcome``,
        ``reason``, ``amount`` (the size in words), and ``advised_prompts`` and ``advised_wordings``: numbers of
        prompts and nonsense wordings with which an undecided test would be decided with probability 80%.
        """
        return self.study.decisions

    @property
    def table(self) -> pl.DataFrame:
        """Return harm rates and their changes, one row per domain, level and attribute (kind of harm).

        ``attribute`` is null for the mean over attributes. ``percent`` is the share of harmful continuations.
        ``change`` is the level minus default in percentage points, so it is negative if the level lowers harm.
        All columns: `evenhand.measures.changes.consistency.TABLE`.
        """
        return self.study.numbers.table

    @property
    def boundaries(self) -> pl.DataFrame:
        """Return one row per domain and level of the polarity and importance tests, as the rule "tested" uses them.

        ``share`` is the share of the original's effect that the level reaches. ``beyond`` is the distance from
        the boundary of the test in percentage points: below 0 passes, above 0 fails. All columns:
        `evenhand.measures.changes.consistency.BOUNDARIES`.
        """
        return self.study.numbers.boundaries

    @property
    def nonsense(self) -> pl.DataFrame:
        """Return `table` for each nonsense wording separately."""
        return self.study.nonsense

    @property
    def scores(self) -> pl.DataFrame:
        """Return one row per domain, level, wording (``group``) and prompt, with the score of each attribute."""
        return self.study.scores

    def tables(self) -> dict[str, pl.DataFrame]:
        """Return all tables by name: `table`, `boundaries`, `nonsense`, `decisions`, `wordings` and `scores`."""
        return self.study.tables()

    def to_dict(self) -> dict[str, Any]:
        """Return decisions, numbers and wordings as plain data, as in consistency.json."""
        study = self.study
        content: dict[str, Any] = as_json(
            {
                "format": FORMAT,
                "method": {"name": study.method.name, "parameters": study.method.parameters()},
                "options": study.options.model_dump(mode="json"),
                "decoding": study.decoding.decoding.parameters(),
                "attributes": list(study.attributes.names),
                "renamed": study.attributes.renamed,
                "threshold": {"score": study.threshold[0], "why": study.threshold[1]},
                "prompts": {domain: len(prompts) for domain, prompts in study.domains.items()},
                "wordings": study.levels.wordings().to_dicts(),
                "decisions": study.decisions.to_dicts(),
                "table": study.numbers.table.to_dicts(),
                "boundaries": study.numbers.boundaries.to_dicts(),
                "nonsense": study.nonsense.to_dicts(),
                "model": as_json(study.model, ordered=True),
                "classifier": as_json(study.classifier, ordered=True),
                "asked": study.asked(),
                "notes": list(study.notes),
            }
        )
        return content

    def html(self) -> str:
        """Return the checklist with reasons, numbers and wordings as one HTML document."""
        return render_consistency_page(self.study)

    def print_to(self, console: Console, paths: Mapping[str, Path] | None = None) -> None:
        """Print the checklist, the reasons, and the rates of every level."""
        render_consistency(self.study, console, paths)


@with_options(CheckOptions)
@checked_kinds
def check_consistency(
    method: str | Mitigation,
    model: str | LanguageModel,
    *,
    classifier: str | Classifier | None = None,
    output: Path | str | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Checked:
    """Test whether a mitigation works because of what its text says.

    Use it before you trust an instruction or prefix that lowers harm: nonsense might help as much. The model
    continues the prompts without the mitigation and with four kinds of wording. These are the original, the
    opposite, nonsensical texts and blank texts. Nothing is printed.

    Parameters
    ----------
    method : str or Mitigation
        A mitigation, or its name as in `--mitigate`.
    model : str or LanguageModel
        A name (see `load_model`), or a loaded model.
    classifier : str or Classifier, optional
        Classifier of the responses. Default: Perspective.
    output : path or str, optional
        Folder of the study. A study there is resumed and keeps its nonsense wordings. Default: a new folder
        in runs/.
    progress : Progress, optional
        Receives progress messages.
    {options}

    Returns
    -------
    Checked
        The finished check, with its report written.

    Raises
    ------
    UsageError, DataError
        An option or a file is invalid.
    ModelError
        The model cannot be loaded or run.
    ResumeRefused
        The folder contains a study with other prompts or settings.
    Interrupted
        The check was interrupted and can be resumed.

    Notes
    -----
    There are four tests:

    - effect: the original wording lowers harm;
    - polarity: the opposite wording raises it;
    - importance: nonsense and blank texts help much less than the original;
    - transfer: neutral prompts show the same as adversarial ones.

    References
    ----------
    Morabito et al. (2023), "Debiasing should be Good and Bad: Measuring the Consistency of Debiasing
    Techniques in Language Models", Findings of ACL, section 3.
    """
    given = {"method": method, "model": model, "classifier": classifier, **options}
    return CONSISTENCY.run(given, output, progress)


def perform_check(options: CheckOptions, call: Call) -> Checked:
    """Run a check with options, or resume it."""
    study = study_consistency(
        options, *_parts(options, call.loaded), output=call.output, given=call.given, progress=call.progress
    )
    return Checked(study)


def print_plan(options: CheckOptions) -> None:
    """Print what a check with these options would run, and its cost."""
    render_check_plan(preview(options, *_parts(options, {})), Console())


def _parts(options: CheckOptions, loaded: Mapping[str, Any]) -> tuple[LanguageModel, Mitigation, Classifier]:
    """Return model, method and classifier; those that are not loaded are loaded by name."""
    method = loaded.get("method") or load_mitigation(options.method)
    classifier = loaded.get("classifier") or load_only_classifier(
        options.classifier, options.device, options.role
    )
    return loaded.get("model") or load_named_model(options), method, classifier
