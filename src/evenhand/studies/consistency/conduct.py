"""Run the consistency protocol for one method: effect, dependence on the wording, and transfer to neutral prompts.

Every level gets the same prompts and decoding in a separate run: the model alone, and the method with its original,
opposite, nonsensical and blank wording. The responses are then classified, scored and tested.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.classifiers import Classifier
from evenhand.measures import consistency
from evenhand.measures.changes import Consistency, Decision
from evenhand.mitigations import Mitigation
from evenhand.models import LanguageModel
from evenhand.prompts import PromptSet
from evenhand.runs import (
    Labelling,
    Progress,
    RunDirectory,
    default_path,
    execute,
    judgements,
    label,
    resumable,
)
from evenhand.schema import write_table
from evenhand.stats import Flags
from evenhand.studies.audit import ChosenDecoding
from evenhand.studies.consistency.findings import (
    checklists,
    decision_frame,
    nonsense_by_group,
    score_matrices,
    score_table,
)
from evenhand.studies.consistency.level_runs import LevelRun, Titled, level_runs
from evenhand.studies.consistency.levels import Levels
from evenhand.studies.consistency.options import CheckOptions
from evenhand.studies.consistency.plan import CheckInputs, prepare, shared_texts
from evenhand.studies.consistency.record import begin
from evenhand.studies.consistency.scores import Attributes, choose_threshold

ROLE = "harm"


@dataclass(frozen=True)
class ConsistencyStudy:
    """A finished check: its folder, prompts and results."""

    path: Path
    options: CheckOptions
    method: Mitigation
    levels: Levels
    domains: Mapping[str, PromptSet]
    of_nonsense: Mapping[str, PromptSet]
    """Prompts of each domain that were used with nonsense wordings."""
    decoding: ChosenDecoding
    attributes: Attributes
    threshold: tuple[float, str]
    """The score from which a continuation counts as harmful, and the reason for it."""
    numbers: Consistency
    checklists: Mapping[str, list[Decision]]
    """Outcome of each test by decision rule: effect, polarity and importance in each domain, and transfer."""
    nonsense: pl.DataFrame
    """Table of the protocol, computed for each nonsense wording separately."""
    scores: pl.DataFrame
    """One row per domain, level, nonsense wording (`group`) and prompt: a column per attribute, and `error`."""
    model: Mapping[str, Any]
    """Facts about the model, as it reports them."""
    classifier: Mapping[str, Any]
    notes: tuple[str, ...] = ()
    above_threshold: str | None = None
    """Text on the responses or classifications that failed more often than allowed; None if none did."""

    @property
    def decisions(self) -> pl.DataFrame:
        """Return every decision under every rule, one per row (`findings.DECISIONS`)."""
        return decision_frame(self.checklists)

    def tables(self) -> dict[str, pl.DataFrame]:
        """Return `table` (of the protocol), `boundaries`, `nonsense`, `decisions`, `wordings` and `scores`."""
        return {
            "table": self.numbers.table,
            "boundaries": self.numbers.boundaries,
            "nonsense": self.nonsense,
            "decisions": self.decisions,
            "wordings": self.levels.wordings(),
            "scores": self.scores,
        }

    def runs(self, domain: str) -> dict[str, RunDirectory]:
        """Return the runs of a domain by level."""
        folder = self.path / "levels"
        return {level.key: RunDirectory.open(folder / f"{domain}-{level.key}") for level in self.levels.all}

    def asked(self) -> dict[str, float]:
        """Return totals of all sessions: number of sessions, requests, generated tokens, seconds."""
        runs = [run for domain in self.domains for run in self.runs(domain).values()]
        sessions = [session for run in runs for session in run.manifest.sessions]
        return {
            "sessions": max((len(run.manifest.sessions) for run in runs), default=0),
            "requests": sum(
                _requests([(one.requests_before, one.requests_after) for one in run.manifest.sessions])
                for run in runs
            ),
            "tokens": sum(int(run.responses()["token_count"].sum()) for run in runs),
            "seconds": sum(one.seconds for one in sessions),
        }


def _requests(sessions: Sequence[tuple[int, int]]) -> int:
    """Return the number of requests in all sessions, including those of a killed session that could not note them.

    `sessions` has the number of answered requests before and after each session, in order.

    Examples
    --------
    >>> _requests([(0, 64), (96, 480)])
    480
    """
    noted = sum(after - before for before, after in sessions)
    return noted + sum(max(0, later[0] - earlier[1]) for earlier, later in pairwise(sessions))


def study_consistency(
    options: CheckOptions,
    model: LanguageModel,
    method: Mitigation,
    classifier: Classifier,
    *,
    output: Path | None = None,
    given: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> ConsistencyStudy:
    """Run the protocol, or resume a study.

    Parameters
    ----------
    options : CheckOptions
        All options; `method`, `model` and `classifier` name the other arguments.
    output : Path, optional
        Folder of the study. A study there is resumed if the options that determine prompts and responses are the same.
    given : mapping, optional
        Arguments as the user wrote them, for the record.

    Raises
    ------
    Interrupted
        The study can be resumed.
    ResumeRefused, UsageError, DataError
        As in `check_consistency`, like the errors of model and classifier.

    References
    ----------
    - Morabito et al. 2023, sections 3 and 5.
    """
    prepared = prepare(options, model, method, classifier)
    path = output or default_path(options.model, f"check-consistency-{method.name}")
    levels, domains, decoding = prepared.levels, prepared.domains, prepared.decoding
    runs = level_runs(path, model, levels.all, domains, prepared.of_nonsense, decoding.decoding)
    begin(path, options, levels, given or {})
    failed: list[str] = []
    judged: dict[tuple[str, str], pl.DataFrame] = {}
    with resumable(f"Resume with: evenhand check-consistency {path}"):
        for number, run in enumerate(runs, 1):
            title = f"{run.domain} prompts, {run.level.key} ({number} of {len(runs)})"
            titled = None if progress is None else Titled(progress, title)
            failed += _run_level(run, decoding, classifier, options, given or {}, titled)
            judged[run.domain, run.level.key] = judgements(RunDirectory.open(run.path), run.domain, ROLE)
        matrices = score_matrices(
            levels, judged, prepared.attributes, classifier.labels, _identifiers(domains)
        )
        put = {
            domain: _flag_nonsense_prompts(domains[domain], prepared.of_nonsense[domain])
            for domain in domains
        }
        scores, lacking = matrices.scores, {**levels.lacking, **matrices.lacking}
        threshold = choose_threshold(prepared.attributes, list(judged.values()), options.threshold)
        numbers = consistency(
            {domain: dict(by_level) for domain, by_level in scores.items()},
            attributes=prepared.attributes.names,
            threshold=threshold[0],
            margin=options.margin,
            alpha=options.alpha,
            importance=options.importance,
            asked=put,
            seed=options.seed,
        )
        study = ConsistencyStudy(
            path=path,
            options=options,
            method=method,
            levels=levels,
            domains=domains,
            of_nonsense=prepared.of_nonsense,
            decoding=decoding,
            attributes=prepared.attributes,
            threshold=threshold,
            numbers=numbers,
            checklists=checklists(numbers, lacking, specified=levels.specified, margin=options.margin),
            nonsense=nonsense_by_group(scores, prepared.attributes.names, threshold[0], options.seed),
            scores=score_table(levels, judged, prepared.attributes, classifier.labels),
            model=model.describe(),
            classifier=classifier.describe(),
            notes=tuple([*_notes(prepared), *matrices.lacking.values()]),
            above_threshold=failed[0] if failed else None,
        )
        _write_tables(study)
    return study


def _run_level(
    run: LevelRun,
    decoding: ChosenDecoding,
    classifier: Classifier,
    options: CheckOptions,
    given: Mapping[str, Any],
    progress: Progress | None,
) -> list[str]:
    """Generate and classify the rest of one level; return a description of failures above the allowed rate."""
    directory = run.directory(decoding.decoding, given)
    outcome = execute(
        run.plan,
        run.model,
        directory,
        error_threshold=options.error_threshold,
        progress=progress,
        retry_errors=options.retry_errors,
    )
    name = options.classifier
    labelled = label(
        directory,
        [Labelling(run.domain, ROLE, name)],
        {name: classifier},
        progress=progress,
        retry_errors=options.retry_errors,
    )
    where = f"at the level {run.level.key} of the {run.domain} prompts"
    reasons = []
    if outcome.above_threshold:
        reasons.append(f"{outcome.error_share:.1%} of the continuations failed {where}")
    if labelled.error_share > options.error_threshold:
        reasons.append(f"{labelled.error_share:.1%} of the texts could not be classified {where}")
    return reasons


def _identifiers(domains: Mapping[str, PromptSet]) -> dict[str, pl.Series]:
    return {domain: prompts.frame["prompt_id"] for domain, prompts in domains.items()}


def _flag_nonsense_prompts(prompts: PromptSet, of_nonsense: PromptSet) -> dict[str, Flags]:
    """Return, for the level nonsensical, a flag for each prompt: True if it was used with nonsense wordings."""
    here = prompts.frame["prompt_id"].is_in(of_nonsense.frame["prompt_id"].implode())
    return {"nonsensical": here.to_numpy()}


def _notes(prepared: CheckInputs) -> list[str]:
    notes = [f"The level {level} was not run. {why}" for level, why in prepared.levels.lacking.items()]
    fewer = {
        domain: (len(some), len(prepared.domains[domain]))
        for domain, some in prepared.of_nonsense.items()
        if len(some) < len(prepared.domains[domain])
    }
    if fewer and prepared.levels.named("nonsensical"):
        sizes = " and ".join(
            f"{some:,} of the {all_:,} {domain} prompts" for domain, (some, all_) in fewer.items()
        )
        notes.append(f"Nonsense was tested on {sizes}, and is compared with the other levels on these.")
    if renamed := prepared.attributes.renamed:
        names = ", ".join(f"{label} as {name}" for label, name in renamed.items())
        notes.append(
            f"The classifier's labels are used in place of the nearest published attributes: {names}. They were "
            "trained on other ratings, so rates are not comparable with published ones."
        )
    if same := shared_texts(prepared.domains):
        notes.append(f"{same:,} texts are both adversarial and neutral prompts.")
    if len(prepared.domains) < 2:
        notes.append("Only adversarial prompts were tested (--neutral none).")
    return notes


def _write_tables(study: ConsistencyStudy) -> None:
    for name, table in study.tables().items():
        write_table(study.path / f"{name}.parquet", table)
