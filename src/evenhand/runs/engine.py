"""The engine: asks what is pending, shard by shard, so that a stop at any instant loses at most one."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import polars as pl

from evenhand.models.contract import LanguageModel
from evenhand.runs.answering import answer
from evenhand.runs.directory import RunDirectory
from evenhand.runs.environment import this_environment
from evenhand.runs.manifest import ModelRecord, Session, Status
from evenhand.runs.plan import Plan
from evenhand.runs.progress import Progress, Silence, shown
from evenhand.runs.shards import next_number, read_shards, set_aside_unreadable, write_shard
from evenhand.runs.stopping import Stopping
from evenhand.schema import Interrupted, ResponseError, WriteError

RETRIED = (ResponseError.MODEL_ERROR, ResponseError.OUT_OF_MEMORY)
"""Codes that a second try may mend: the rest belong to the text."""


@dataclass(frozen=True)
class Outcome:
    """How a session of a run ended; the run has a row for every request."""

    requests: int
    """Distinct requests of the plan."""
    prompts: int
    """Prompts of the plan, of which several may make the same request."""
    answered: int
    """Of those, asked in this session."""
    tokens: int
    """Scored in this session."""
    seconds: float
    """Of this session."""
    errors: dict[str, int]
    """Prompts without a number by code, over the whole run."""
    above_threshold: bool
    """The share of error rows is above what was allowed: exit code 3."""
    notes: tuple[str, ...] = ()
    """What a reader should know, such as parts that were set aside."""

    @property
    def error_share(self) -> float:
        """Share of prompts without a number."""
        return sum(self.errors.values()) / self.prompts


def execute(
    plan: Plan,
    model: LanguageModel,
    directory: RunDirectory,
    *,
    error_threshold: float = 0.05,
    progress: Progress | None = None,
    shard_seconds: float = 30.0,
    first_shard: int = 256,
    max_shard: int = 32768,
    retry_errors: bool = False,
) -> Outcome:
    """Ask everything in the plan that has no answer in the directory yet, and record it.

    Shards grow or shrink until one takes about `shard_seconds`; the answers do not depend on that.

    Arguments: error_threshold: largest share of error rows that still counts as a good run.
    progress: told after each shard; nothing by default. first_shard, max_shard: requests.
    retry_errors: ask again where the model failed (not where the text is at fault).
    Returns: the outcome, once every request has a row.
    Raises Interrupted after Ctrl-C or SIGTERM (resumable), ResumeRefused if the directory is of
    another model or other prompts, UsageError if another process runs it, WriteError if a shard
    cannot be written (resumable), and whatever EvenhandError the model raises (resumable).
    Source: DESIGN.md, "The engine".
    """
    progress = progress or Silence()
    with directory.lock(), Stopping() as stopping:
        directory.check_model(model.fingerprint)
        directory.check_model(plan.fingerprint)
        directory.write_prompts(plan)
        folder = directory.responses_folder
        notes = set_aside_unreadable(folder)
        there = read_shards(folder, ["error"])
        if retry_errors:
            there = there.filter(~pl.col("error").is_in(RETRIED).fill_null(False))
        pending = plan.pending(there["request_id"])
        done = plan.requests.height - pending.height
        session = _begin(directory, plan, done, notes)
        number = next_number(folder)
        size, answered, tokens = first_shard, 0, 0
        with _recorded(directory, session, model), shown(progress, plan.requests.height, done) as telling:
            for note in notes:
                telling.note(note)
            for group in pending.partition_by("masking", maintain_order=True) if pending.height else []:
                start = 0
                while start < group.height:
                    began = time.monotonic()
                    with stopping.in_flight():
                        rows = answer(model, group.slice(start, size))
                    write_shard(folder, number, rows)
                    start, number = start + rows.height, number + 1
                    new_tokens = int(rows["token_count"].sum())
                    answered, tokens = answered + rows.height, tokens + new_tokens
                    session.requests_after, session.tokens = done + answered, tokens
                    session.shards += 1
                    telling.advance(rows.height, new_tokens, rows.height - rows["error"].null_count())
                    size = next_size(size, time.monotonic() - began, shard_seconds, max_shard)
            errors = _errors(plan, folder)
            directory.manifest.errors = errors
    prompts = sum(part.prompts.height for part in plan.parts)
    return Outcome(
        requests=plan.requests.height,
        prompts=prompts,
        answered=answered,
        tokens=tokens,
        seconds=session.seconds,
        errors=errors,
        above_threshold=sum(errors.values()) / prompts > error_threshold,
        notes=tuple(notes),
    )


def next_size(size: int, seconds: float, target: float, largest: int) -> int:
    """The next shard's size: doubled while shards take under half the target, halved past its double.

    >>> next_size(256, 1.0, 30.0, 32768), next_size(256, 90.0, 30.0, 32768), next_size(256, 20.0, 30.0, 32768)
    (512, 128, 256)
    """
    if seconds * 2 < target:
        return min(size * 2, max(largest, 1))
    return max(size // 2, 1) if seconds > target * 2 else size


def _begin(directory: RunDirectory, plan: Plan, done: int, notes: list[str]) -> Session:
    session = Session(
        started=_now(),
        pid=os.getpid(),
        environment=this_environment(),
        requests_before=done,
        requests_after=done,
        notes=list(notes),
    )
    manifest = directory.manifest
    manifest.sessions.append(session)
    manifest.requests = plan.requests.height
    manifest.status = "running"
    directory.save()
    return session


@contextmanager
def _recorded(directory: RunDirectory, session: Session, model: LanguageModel) -> Iterator[None]:
    began = time.monotonic()
    status: Status = "failed"
    try:
        yield
        status = "complete"
    except KeyboardInterrupt as stop:
        status = "interrupted"
        left = directory.manifest.requests - session.requests_after
        raise Interrupted(
            f"Stopped with {session.requests_after:,} requests answered and {left:,} left; nothing is lost.",
            f"Resume with: evenhand audit {directory.path}",
        ) from stop
    except BaseException as error:
        session.notes.append(f"{type(error).__name__}: {error}")
        raise
    finally:
        session.ended, session.status = _now(), status
        session.seconds = time.monotonic() - began
        manifest = directory.manifest
        manifest.status = status
        manifest.timings["responses"] = manifest.timings.get("responses", 0.0) + session.seconds
        manifest.model = ModelRecord.of(model)
        try:
            directory.save()
        except WriteError:
            # On a full disk the manifest cannot be written either; the error that says so is on its way.
            if status == "complete":
                raise


def _errors(plan: Plan, folder: Path) -> dict[str, int]:
    """Prompts without a number, by code: a text that many prompts share counts once for each."""
    failed = read_shards(folder, ["error"]).select("request_id", "error").drop_nulls()
    asked = pl.concat([part.prompts.select("request_id") for part in plan.parts])
    counts = asked.join(failed, on="request_id", how="inner")["error"].value_counts()
    return dict(sorted(counts.rows()))


def _now() -> str:
    return datetime.now(UTC).isoformat("T", "seconds")
