"""The run of each level of a consistency study. It can be stopped and resumed at any time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenhand.models import Decoding, LanguageModel
from evenhand.prompts import PromptSet
from evenhand.runs import (
    GenerateRequest,
    Plan,
    PlanPart,
    Progress,
    PromptSetRecord,
    RunDirectory,
    Unit,
    make_plan,
)
from evenhand.schema import as_json
from evenhand.studies.consistency.levels import Level


@dataclass(frozen=True)
class LevelRun:
    """One level in one domain: its model, its plan and the folder of its run."""

    domain: str
    level: Level
    model: LanguageModel
    prompts: PromptSet
    plan: Plan
    path: Path

    def directory(self, decoding: Decoding, given: Mapping[str, Any]) -> RunDirectory:
        """Return the run, opened or started; raises ResumeRefused if a run with other requests exists."""
        resolved = {
            "study": "consistency",
            "domain": self.domain,
            "level": self.level.key,
            "wording": self.level.texts,
            "decoding": decoding.parameters(),
        }
        if RunDirectory.is_run(self.path):
            directory = RunDirectory.open(self.path)
            directory.check_same(as_json(resolved))
            return directory
        prompts = self.prompts
        record = PromptSetRecord(
            content_hash=prompts.content_hash, rows=len(prompts), card=prompts.card.to_dict()
        )
        return RunDirectory.create(
            self.path,
            model=self.model,
            given=given,
            resolved=resolved,
            prompt_sets={self.domain: record},
            seeds={"decoding": decoding.seed},
        )


class Titled:
    """Progress of one of several runs, with the run's name in its messages. A run without remaining work shows none."""

    def __init__(self, progress: Progress, title: str):
        self.progress, self.title, self.telling, self.named = progress, title, False, False

    def start(self, total: int, done: int, unit: Unit = "requests") -> None:
        """See Progress.start."""
        self.telling = done < total
        if self.telling:
            self.progress.start(total, done, unit)
            if not self.named:
                self.progress.note(self.title)
            self.named = True

    def advance(self, requests: int, tokens: int, errors: int) -> None:
        """See Progress.advance."""
        self.progress.advance(requests, tokens, errors)

    def note(self, message: str) -> None:
        """See Progress.note."""
        if self.telling:
            self.progress.note(message)

    def stop(self) -> None:
        """See Progress.stop."""
        if self.telling:
            self.progress.stop()
            self.telling = False


def level_runs(
    path: Path,
    model: LanguageModel,
    levels: Sequence[Level],
    domains: Mapping[str, PromptSet],
    of_nonsense: Mapping[str, PromptSet],
    decoding: Decoding,
) -> list[LevelRun]:
    """Return the runs of a study in the order in which they are executed.

    Raises the errors of applying a mitigation to the model.

    Parameters
    ----------
    path
        Folder of the study.
    model
        The model without the mitigation.
    levels
        The levels of the method.
    domains
        Prompts of each domain.
    of_nonsense
        Prompts of each domain that are used with nonsense wordings.
    decoding
        Decoding settings of all runs.
    """
    applied = [(level, level.applied(model)) for level in levels]
    return [
        LevelRun(
            domain,
            level,
            changed,
            prompts,
            make_plan([PlanPart(domain, prompts.frame, GenerateRequest(decoding))], changed.fingerprint),
            path / "levels" / f"{domain}-{level.key}",
        )
        for domain in domains
        for level, changed in applied
        for prompts in [domains[domain] if level.group is None else of_nonsense[domain]]
    ]
