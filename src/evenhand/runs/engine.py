"""The engine: send pending requests in shards, so that a stop at any time loses at most one shard."""

import itertools
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

import polars as pl

from evenhand.models import LanguageModel
from evenhand.runs.asking import RETRIED, answer
from evenhand.runs.cluster import count_copies, describe_workers
from evenhand.runs.directory import RunDirectory
from evenhand.runs.environment import this_environment
from evenhand.runs.manifest import Manifest, ModelRecord, SessionRecord, Status
from evenhand.runs.pacing import ShardSizes, in_shards
from evenhand.runs.plan import KINDS, Plan
from evenhand.runs.progress import Progress, Silence, show_progress
from evenhand.runs.requests import ConversationRequest, count_samples
from evenhand.runs.shards import next_number, read_shards, refuse_gone, set_aside_unreadable, write_shard
from evenhand.runs.stopping import Stopping
from evenhand.schema import Interrupted, ResponseError, WriteError, add_session, as_json
from evenhand.weights import return_free_memory

WRITTEN_FOR_ONE_SCORED = 8
"""Factor by which first shards of continuations are smaller, because generating takes longer than scoring."""
TRIM_SECONDS = 5.0
"""Minimum time between two shards after which freed memory is given back to the system."""


@dataclass(frozen=True)
class AskOutcome:
    """How a session of a run ended; the result of `execute`. The run has all rows of every request."""

    requests: int
    """Number of distinct requests of the plan."""
    prompts: int
    """Number of prompts of the plan. Several prompts may share a request."""
    answers: int
    """Number of responses that the prompts need: one per prompt, or one per prompt and sample."""
    answered: int
    """Number of requests that were sent in this session."""
    tokens: int
    """Number of tokens that were scored or generated in this session."""
    seconds: float
    """Duration of this session, in seconds."""
    errors: dict[str, int]
    """Number of failed responses of the whole run by error code. A response that prompts share counts for each."""
    above_threshold: bool
    """Whether the share of failed rows is above the allowed share. The exit code is then 3."""
    notes: tuple[str, ...] = ()
    """Messages for the user, for example on parts that were set aside."""

    @property
    def error_share(self) -> float:
        """Return the share of responses that failed; every sample counts as one response."""
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
    """Send every request of a plan that has no response yet to the model, and store the responses.

    Call it again with the same folder to resume. Requests are sent in shards, which grow or shrink until one
    takes about `shard_seconds`. The responses do not depend on the size of shards.

    Parameters
    ----------
    plan : Plan
        The requests.
    model : LanguageModel
        The model.
    directory : RunDirectory
        Folder of the run.
    error_threshold : float, default 0.05
        Largest share of failed rows with which the run counts as successful.
    progress : Progress, optional
        Receives a message after each shard.
    shard_seconds : float, default 30.0
        Target duration of a shard, in seconds.
    first_shard, max_shard : int
        Number of requests in the first and in the largest shard. For generations, the first shard has an
        eighth, and less if there are several samples.
    retry_errors : bool, default False
        Send requests again if the model failed (not if the text is invalid).

    Returns
    -------
    AskOutcome
        The outcome, once every request has a row.

    Raises
    ------
    Interrupted
        The run was stopped by Ctrl-C or SIGTERM. You can resume it.
    ResumeRefused
        The folder belongs to another model or other prompts.
    UsageError
        Another process works on the run.
    WriteError
        A shard cannot be written, or the folder was moved. You can resume the run.
    DataError
        Stored parts are missing. You can resume the run.
    EvenhandError
        The model raises it. You can resume the run.

    Notes
    -----
    Conversations come last, round by round, with one utterance of each. They end as the prompts of the run
    require (see `evenhand.runs.self_chats`).
    """
    progress = progress or Silence()
    with directory.lock(), Stopping() as stopping:
        directory.check_model(model.fingerprint)
        directory.check_model(plan.fingerprint)
        directory.write_prompts(plan)
        folder = directory.responses_folder
        notes = set_aside_unreadable(folder)
        columns = ["error"] if plan.speaker is None else ["error", "text"]
        stored = read_shards(folder, columns)
        good = stored.filter(pl.col("error").is_null()).select("request_id", "sample")
        stages = [_start_stage(stage, stored) for stage in plan.stages()]
        whole = not any(stage.n_pending for stage in stages)
        if retry_errors:
            stored = stored.filter(~pl.col("error").is_in(RETRIED).fill_null(False))
            stages = [_start_stage(stage, stored) for stage in plan.stages()]
        done = sum(stage.most - stage.n_ahead - stage.n_pending for stage in stages)
        session = _begin(directory, sum(stage.most for stage in stages), done, notes)
        numbers, sizes = itertools.count(next_number(folder)), dict[str | None, int]()
        answered, fresh, read = 0, list[pl.DataFrame](), stored.columns
        trimmed = time.monotonic()

        def store(rows: pl.DataFrame) -> None:
            directory.check_in_place()
            # never replace a stored sample, because a prompt is requested again if other samples of it are missing
            kept = rows.join(good, on=good.columns, how="anti")
            write_shard(folder, next(numbers), kept)
            fresh.append(kept.select(read))

        with (
            _record_session(directory, session, model, whole) as save_counts,
            show_progress(progress, directory.manifest.requests, done) as bar,
        ):
            for note in notes:
                bar.note(note)
            for stage in stages:
                now: Plan | None = stage.rounds[-1]
                while now is not None:
                    # conversations with equal words share a reply; a conversation ends after a failed one
                    there, spared = stage.update_pending(stored)
                    session.requests_after += there
                    directory.manifest.requests -= spared
                    if there + spared:
                        bar.advance(there + spared, 0, 0)
                    for group in stage.groups():
                        asked = now.speaker if group["conversing"][0] and now.speaker else model
                        begin_with = _first(group, first_shard) * count_copies(asked)
                        first = sizes.get(group["decoding"][0], begin_with)
                        of_kind = _select_kind(plan, group).join(good, on="request_id", how="semi")
                        # a conversation continues only if its reply succeeded
                        known = len(stage.rounds) > 1 or of_kind.height > 0
                        at_first = ShardSizes(first, max_shard * count_copies(asked), shard_seconds)
                        ask = partial(answer, asked)
                        for requests, rows in in_shards(group, ask, store, stopping, at_first, known):
                            tokens = int(rows["token_count"].sum())
                            answered += requests.height
                            session.requests_after += requests.height
                            session.tokens += tokens
                            session.shards += 1
                            save_counts()
                            failed = rows.filter(pl.col("error").is_not_null())["request_id"].n_unique()
                            bar.advance(requests.height, tokens, failed)
                            first = max(first, requests.height)
                            if time.monotonic() > trimmed + TRIM_SECONDS:
                                return_free_memory()
                                trimmed = time.monotonic()
                        sizes[group["decoding"][0]] = first
                    every = pl.concat([stored, *fresh]).unique(good.columns, keep="last", maintain_order=True)
                    stored, fresh[:] = every, []
                    now = stage.add_next_round(stored)
            rounds = [each for stage in stages for each in stage.rounds]
            stored = read_shards(folder, columns)
            refuse_gone(sum(_find_pending(each, stored).height for each in rounds), "requests", folder)
            directory.write_conversations(plan, rounds)
            errors = _errors(plan, rounds, stored)
            directory.manifest.errors = errors
            directory.manifest.requests = session.requests_after = pl.concat(
                each.requests["request_id"] for each in rounds
            ).n_unique()
    return AskOutcome(
        requests=session.requests_after,
        prompts=plan.prompts,
        answers=plan.answers,
        answered=answered,
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


def _select_kind(plan: Plan, group: pl.DataFrame) -> pl.DataFrame:
    return plan.requests.join(group.select(KINDS).unique(), on=KINDS, how="semi", nulls_equal=True)


@dataclass
class _Stage:
    """Requests that are sent as a whole. If they open conversations, the following rounds are included."""

    rounds: list[Plan]
    pending: pl.DataFrame
    """Requests of the last round without a response."""
    most: int = 0
    """Number of requests of the rounds so far plus, at most, those of later rounds."""

    def __post_init__(self) -> None:
        self.most = sum(each.requests.height for each in self.rounds) + self.n_ahead

    @property
    def n_ahead(self) -> int:
        """Return the number of replies after the last round, if none fails and all conversations differ."""
        return sum(
            part.prompts.height * (part.request.turns - int(part.prompts["turn"][0]))
            for part in self.rounds[-1].parts
            if isinstance(part.request, ConversationRequest)
        )

    @property
    def n_pending(self) -> int:
        """Return the number of requests of the last round without a response."""
        return self.pending.height

    def update_pending(self, stored: pl.DataFrame) -> tuple[int, int]:
        """Return the requests of the last round that got responses since it was planned, and those that need none."""
        waiting, self.pending = self.n_pending, _find_pending(self.rounds[-1], stored)
        before = self.most
        self.__post_init__()
        return waiting - self.n_pending, before - self.most

    def groups(self) -> list[pl.DataFrame]:
        """Return the requests without a response, by kind."""
        return self.pending.partition_by(KINDS, maintain_order=True) if self.n_pending else []

    def add_next_round(self, stored: pl.DataFrame) -> Plan | None:
        """Add the next round and return it; None after the last turn."""
        following = self.rounds[-1].plan_next_round(stored)
        if following is not None:
            self.rounds.append(following)
            self.pending = following.requests
        return following


def _start_stage(plan: Plan, stored: pl.DataFrame) -> _Stage:
    """Return the rounds of a plan up to the first with missing responses."""
    stage = _Stage([plan], _find_pending(plan, stored))
    while not stage.n_pending and stage.add_next_round(stored) is not None:
        stage.update_pending(stored)
    return stage


def _find_pending(plan: Plan, stored: pl.DataFrame) -> pl.DataFrame:
    return plan.pending(plan.find_answered(stored))


def _begin(directory: RunDirectory, requests: int, done: int, notes: list[str]) -> SessionRecord:
    session = SessionRecord(
        started=_format_now(),
        pid=os.getpid(),
        environment=this_environment(),
        requests_before=done,
        requests_after=done,
        notes=list(notes),
    )
    manifest = directory.manifest
    _settle_killed(manifest, done)
    manifest.sessions.append(session)
    manifest.requests = requests
    manifest.status = "running"
    directory.save()
    return session


def _settle_killed(manifest: Manifest, done: int) -> None:
    """Complete the records of sessions whose process was killed. done: requests that have a response now."""
    sessions = manifest.sessions
    following = [*(one.requests_before for one in sessions[1:]), done]
    for killed, answered in zip(sessions, following, strict=False):
        if killed.status != "running":
            continue
        killed.status = "failed"
        killed.requests_not_counted = max(0, answered - killed.requests_after)
        killed.requests_after = max(answered, killed.requests_after)
        killed.notes.append("The process was killed.")
        manifest.timings["responses"] = manifest.timings.get("responses", 0.0) + killed.seconds


@contextmanager
def _record_session(
    directory: RunDirectory, session: SessionRecord, model: LanguageModel, whole: bool
) -> Iterator[Callable[[], None]]:
    """Record a session while it runs and when it ends; yield a function that saves the counts so far.

    whole: whether every request already had a row; then the run is complete however the session ends.
    """
    began = time.monotonic()
    status: Status = "failed"
    earlier = [one for one in directory.manifest.sessions if one is not session]
    before = directory.manifest.model.description if any(one.shards for one in earlier) else {}
    at_start = as_json(model.describe())

    def save_counts() -> None:
        # a killed process cannot write its counts, so they are saved with each shard
        session.seconds = time.monotonic() - began
        directory.manifest.model.description = add_session(before, at_start, as_json(model.describe()))
        _add_uncounted(directory.manifest)
        with suppress(WriteError):  # the shard is stored; if the disk is full, the next one reports it
            directory.save()

    try:
        yield save_counts
        status = "complete"
    except KeyboardInterrupt as stop:
        status = "interrupted"
        left = directory.manifest.requests - session.requests_after
        raise Interrupted(
            f"Stopped with {session.requests_after:,} requests done and {left:,} remaining. All results so far are "
            "saved.",
            f"Resume with: evenhand audit {directory.path}",
        ) from stop
    except BaseException as error:
        session.notes.append(f"{type(error).__name__}: {error}")
        raise
    finally:
        session.ended, session.status = _format_now(), status
        session.seconds = time.monotonic() - began
        session.workers = describe_workers(model)
        manifest = directory.manifest
        manifest.status = "complete" if whole else status
        manifest.timings["responses"] = manifest.timings.get("responses", 0.0) + session.seconds
        if session.shards or not manifest.model.description:
            # a session without requests must not replace measurements of an earlier one, such as memory
            manifest.model = ModelRecord.from_model(model)
            manifest.model.description = add_session(before, at_start, manifest.model.description)
            _add_uncounted(manifest)
        try:
            directory.save()
        except WriteError:
            # on a full disk the manifest cannot be written either; the error is raised elsewhere
            if status == "complete":
                raise


def _add_uncounted(manifest: Manifest) -> None:
    """Add the number of stored requests that the model's counts do not include, if there are any."""
    if uncounted := sum(one.requests_not_counted for one in manifest.sessions):
        manifest.model.description["requests_not_counted"] = uncounted


def _errors(plan: Plan, rounds: list[Plan], responses: pl.DataFrame) -> dict[str, int]:
    """Return the number of failed responses by code; a response that several prompts share counts for each.

    Utterances that could not be requested because of a failed one count as missing.
    """
    failed = responses.select("request_id", "error").drop_nulls()
    parts = [part for each in rounds for part in each.parts]
    asked = pl.concat([part.prompts.select("request_id") for part in parts])
    counts = dict(asked.join(failed, on="request_id", how="inner")["error"].value_counts().rows())
    if unsaid := plan.answers - sum(part.prompts.height * count_samples(part.request) for part in parts):
        counts[str(ResponseError.MISSING)] = counts.get(str(ResponseError.MISSING), 0) + unsaid
    return dict(sorted(counts.items()))


def _format_now() -> str:
    return datetime.now(UTC).isoformat("T", "seconds")
