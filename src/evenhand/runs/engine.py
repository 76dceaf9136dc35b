"""The engine: asks what is pending, shard by shard, so that a stop at any instant loses at most one."""

import itertools
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

import polars as pl

from evenhand.models import LanguageModel
from evenhand.runs.asking import RETRIED, answer
from evenhand.runs.directory import RunDirectory
from evenhand.runs.environment import this_environment
from evenhand.runs.manifest import ModelRecord, Session, Status
from evenhand.runs.pacing import ShardSizes, in_shards
from evenhand.runs.plan import KINDS, Plan
from evenhand.runs.progress import Progress, Silence, shown
from evenhand.runs.shards import next_number, read_shards, refuse_gone, set_aside_unreadable, write_shard
from evenhand.runs.stopping import Stopping
from evenhand.schema import Interrupted, WriteError

WRITTEN_FOR_ONE_SCORED = 8
"""Writing a continuation takes so much longer than scoring a text that first shards are this much smaller."""


@dataclass(frozen=True)
class AskOutcome:
    """How a session of a run ended; the run has all rows of every request."""

    requests: int
    """Distinct requests of the plan."""
    prompts: int
    """Prompts of the plan, of which several may make the same request."""
    answers: int
    """What the prompts should have: one answer each, or one for each sample."""
    answered: int
    """Requests asked in this session."""
    tokens: int
    """Scored or written in this session."""
    seconds: float
    """Of this session."""
    errors: dict[str, int]
    """Answers that failed by code, over the whole run; an answer that prompts share counts for each."""
    above_threshold: bool
    """The share of error rows is above what was allowed: exit code 3."""
    notes: tuple[str, ...] = ()
    """What a reader should know, such as parts that were set aside."""

    @property
    def error_share(self) -> float:
        """Share of the answers that failed; a failed sample is a share of its prompt."""
        return sum(self.errors.values()) / self.answers


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
) -> AskOutcome:
    """Ask everything in the plan that has no answer in the directory yet, and record it.

    Shards grow or shrink until one takes about `shard_seconds`; the answers do not depend on that.

    Arguments: error_threshold: largest share of error rows that still counts as a good run.
    progress: told after each shard; nothing by default. first_shard, max_shard: requests; of generations the
    first shard has an eighth, less where there are several samples.
    retry_errors: ask again where the model failed (not where the text is at fault).
    Returns: the outcome, once every request has a row.
    Raises Interrupted after Ctrl-C or SIGTERM (resumable), ResumeRefused if the directory is of
    another model or other prompts, UsageError if another process runs it, WriteError if a shard
    cannot be written or the folder has been moved (resumable), DataError if parts are gone that were written
    (resumable), and whatever EvenhandError the model raises (resumable).
    """
    progress = progress or Silence()
    with directory.lock(), Stopping() as stopping:
        directory.check_model(model.fingerprint)
        directory.check_model(plan.fingerprint)
        directory.write_prompts(plan)
        folder = directory.responses_folder
        notes = set_aside_unreadable(folder)
        stored = read_shards(folder, ["error"])
        good = stored.filter(pl.col("error").is_null()).select("request_id", "sample")
        whole = plan.pending(plan.answered(stored)).is_empty()
        if retry_errors:
            stored = stored.filter(~pl.col("error").is_in(RETRIED).fill_null(False))
        pending = plan.pending(plan.answered(stored))
        done = plan.requests.height - pending.height
        session = _begin(directory, plan, done, notes)
        numbers = itertools.count(next_number(folder))

        def ask(requests: pl.DataFrame) -> pl.DataFrame:
            return answer(model, requests)

        def store(rows: pl.DataFrame) -> None:
            directory.check_in_place()
            # A sample that is there stays, whatever asking for the others of its prompt once more came to.
            write_shard(folder, next(numbers), rows.join(good, on=good.columns, how="anti"))

        with (
            _recorded(directory, session, model, whole),
            shown(progress, plan.requests.height, done) as bar,
        ):
            for note in notes:
                bar.note(note)
            for group in pending.partition_by(KINDS, maintain_order=True) if pending.height else []:
                sizes = ShardSizes(_first(group, first_shard), max_shard, shard_seconds)
                known = _of_kind(plan, group).join(good, on="request_id", how="semi").height > 0
                for requests, rows in in_shards(group, ask, store, stopping, sizes, known):
                    tokens = int(rows["token_count"].sum())
                    session.requests_after += requests.height
                    session.tokens += tokens
                    session.shards += 1
                    failed = rows.filter(pl.col("error").is_not_null())["request_id"].n_unique()
                    bar.advance(requests.height, tokens, failed)
            there = read_shards(folder, ["error"])
            refuse_gone(plan.pending(plan.answered(there)).height, "requests", folder)
            errors = _errors(plan, there)
            directory.manifest.errors = errors
    return AskOutcome(
        requests=plan.requests.height,
        prompts=plan.prompts,
        answers=plan.answers,
        answered=session.requests_after - done,
        tokens=session.tokens,
        seconds=session.seconds,
        errors=errors,
        above_threshold=sum(errors.values()) / plan.answers > error_threshold,
        notes=tuple(notes),
    )


def _first(group: pl.DataFrame, first_shard: int) -> int:
    if group["decoding"][0] is None:
        return first_shard
    return max(first_shard // (WRITTEN_FOR_ONE_SCORED * int(group["samples"][0])), 1)


def _of_kind(plan: Plan, group: pl.DataFrame) -> pl.DataFrame:
    return plan.requests.join(group.select(KINDS).unique(), on=KINDS, how="semi", nulls_equal=True)


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
def _recorded(directory: RunDirectory, session: Session, model: LanguageModel, whole: bool) -> Iterator[None]:
    """whole: whether every request had a row already; then the run is complete however the session ends."""
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
        manifest.status = "complete" if whole else status
        manifest.timings["responses"] = manifest.timings.get("responses", 0.0) + session.seconds
        if session.shards or not manifest.model.description:
            # A session that asked nothing must not replace what an earlier one measured, such as memory.
            manifest.model = ModelRecord.of(model)
        try:
            directory.save()
        except WriteError:
            # On a full disk the manifest cannot be written either; the error that says so is on its way.
            if status == "complete":
                raise


def _errors(plan: Plan, responses: pl.DataFrame) -> dict[str, int]:
    """Failed answers by code: one that many prompts share counts once for each."""
    failed = responses.select("request_id", "error").drop_nulls()
    asked = pl.concat([part.prompts.select("request_id") for part in plan.parts])
    counts = asked.join(failed, on="request_id", how="inner")["error"].value_counts()
    return dict(sorted(counts.rows()))


def _now() -> str:
    return datetime.now(UTC).isoformat("T", "seconds")
