"""A consistency study on disk: its record, and the run of each level. Everything can be stopped and gone on with."""

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.models.contract import LanguageModel
from evenhand.models.decoding import Decoding
from evenhand.prompts.prompt_set import PromptSet
from evenhand.runs import GenerateRequest, Part, PromptSetRecord, RunDirectory, make_plan
from evenhand.runs.manifest import as_json, refuse_differences
from evenhand.runs.plan import Plan
from evenhand.runs.progress import Progress, Unit
from evenhand.schema import DataError, UsageError
from evenhand.schema.files import atomic_write
from evenhand.studies.consistency_levels import Level, Levels
from evenhand.studies.consistency_options import CheckOptions, read_stored

RECORD = "study.json"
VERSION = 1


def is_study(path: Path) -> bool:
    """Whether a folder holds a consistency study."""
    return (path / RECORD).is_file()


def stored_options(path: Path) -> dict[str, Any]:
    """The options a study was last run with; raises DataError if its record cannot be read."""
    where = path / RECORD
    try:
        content = json.loads(where.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{where} cannot be read: {error}.", "Give the folder of a study.") from error
    version = content.get("version") if isinstance(content, dict) else None
    if not isinstance(version, int) or version > VERSION:
        raise DataError(
            f"{where} has version {version}; this evenhand reads up to {VERSION}.",
            "It was made by a newer evenhand, or changed by hand.",
        )
    return read_stored(content, where)


def begin(path: Path, options: CheckOptions, levels: Levels, given: Mapping[str, Any]) -> None:
    """Write the record of a study, or see that it goes on with what it was started with.

    Raises UsageError for a folder that holds something else, ResumeRefused listing the options that differ where they
    decide what the model is asked.
    """
    if is_study(path):
        stored = CheckOptions.model_validate(stored_options(path))
        hint = "Start another study with -o, or leave out what differs."
        refuse_differences(f"The study {path}", stored.asking(), options.asking(), hint)
    elif path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise UsageError(f"{path} exists and is no consistency study.", "Choose another folder with -o.")
    content = {
        "version": VERSION,
        "options": options.model_dump(mode="json"),
        "given": as_json(given),
        "frame": [levels.frame.before, levels.frame.after],
        "lacking": dict(levels.lacking),
        "wordings": levels.wordings().to_dicts(),
    }
    with atomic_write(path / RECORD) as handle:
        handle.write(json.dumps(content, indent=1, ensure_ascii=False).encode("utf-8", "backslashreplace"))


@dataclass(frozen=True)
class LevelRun:
    """One level in one domain: the model as it stands there, its plan and the folder of its run."""

    domain: str
    level: Level
    model: LanguageModel
    plan: Plan
    path: Path

    def directory(self, prompts: PromptSet, decoding: Decoding, given: Mapping[str, Any]) -> RunDirectory:
        """Its run, opened or begun; raises ResumeRefused if one is there that asks something else."""
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
    """A progress that says which of many runs it is about, and says nothing of a run with nothing to do."""

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
    decoding: Decoding,
) -> list[LevelRun]:
    """The runs of a study in the order in which they are asked; raises what applying a level raises."""
    applied = [(level, level.applied(model)) for level in levels]
    return [
        LevelRun(
            domain,
            level,
            changed,
            make_plan([Part(domain, prompts.frame, GenerateRequest(decoding))], changed.fingerprint),
            path / "levels" / f"{domain}-{level.key}",
        )
        for domain, prompts in domains.items()
        for level, changed in applied
    ]


def write_table(path: Path, table: pl.DataFrame) -> None:
    """Write a table of the study, whole or not at all; raises WriteError."""
    content = io.BytesIO()  # encoded first, so that a write error comes from the file itself
    table.write_parquet(content)
    with atomic_write(path) as handle:
        handle.write(content.getbuffer())
