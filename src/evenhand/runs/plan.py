"""The plan of a run: the prompts of every benchmark, and the distinct requests for them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, get_args

import polars as pl

from evenhand.models import StartToken, TextGenerator
from evenhand.runs import conversing
from evenhand.runs.requests import (
    ConversationRequest,
    Request,
    ScoreRequest,
    count_rounds,
    count_samples,
    decoding_json,
    fingerprint_digest,
    request_ids,
)
from evenhand.schema import PROMPT_KEYS, RESPONSES, DataError, UsageError

REQUESTS = {
    "request_id": pl.String,
    "text": pl.String,
    "context": pl.String,
    "span_start": pl.UInt32,
    "span_end": pl.UInt32,
    "start_token": pl.String,
    "masking": pl.String,
    "keep_tokens": pl.Boolean,
    "decoding": pl.String,  # JSON of the decoding parameters; null if a text is scored
    "samples": pl.UInt16,  # response rows
    # True if the text is the history of a conversation, to which the plan's speaker replies
    "conversing": pl.Boolean,
}
KINDS = ["conversing", "masking", "start_token", "decoding"]
"""Columns whose values must be equal for requests that are sent to the model together."""
ENGINE_COLUMNS = {
    "context": pl.String,
    "span_start": pl.UInt32,
    "span_end": pl.UInt32,
    "start_token": pl.String,
}
RESERVED = frozenset(RESPONSES) - {"text"} | {"perplexity"}
CONTINUATION = frozenset({"continuation", conversing.CONTEXT})


@dataclass(frozen=True)
class PlanPart:
    """The share of one benchmark in a run: its prompts and the kind of request."""

    benchmark: str
    prompts: pl.DataFrame
    """Columns PROMPT_KEYS, the engine's optional columns and any group columns; in a plan also `request_id`. For
    conversations they are the openers, and in a plan the utterances that are requested now (`conversing.opened`)."""
    request: Request = field(default_factory=ScoreRequest)


@dataclass(frozen=True)
class Plan:
    """All distinct requests of a run, in the order in which they are sent; the result of `make_plan`."""

    parts: tuple[PlanPart, ...]
    requests: pl.DataFrame
    """Columns REQUESTS. Likelihoods are sorted so that neighbours share prefixes. Generations follow, sorted so that
    neighbours have similar lengths."""
    fingerprint: Mapping[str, Any]
    """Fingerprint of the model for which the requests are."""
    speaker: TextGenerator | None = None
    """Model that replies in conversations; None if there are none."""

    @property
    def digest(self) -> str:
        """Return the digest of the fingerprint, 64 hexadecimal characters."""
        return fingerprint_digest(self.fingerprint)

    @property
    def prompts(self) -> int:
        """Return the number of prompts of all parts; every utterance of a conversation except its opener counts."""
        return sum(part.prompts.height * count_rounds(part.request) for part in self.parts)

    @property
    def answers(self) -> int:
        """Return the number of responses of all parts: one per prompt, or one per prompt and sample."""
        return sum(
            part.prompts.height * count_rounds(part.request) * count_samples(part.request)
            for part in self.parts
        )

    def stages(self) -> list["Plan"]:
        """Split the plan into stages that are completed one after the other.

        The first stage has everything except conversations. Then come the conversations, as many at a time as
        the speaker states (`conversations_at_once`). The speaker can then reuse what it has computed for a
        conversation. If it states nothing, all conversations are one stage.
        """
        alone = tuple(part for part in self.parts if not isinstance(part.request, ConversationRequest))
        held = [part for part in self.parts if isinstance(part.request, ConversationRequest)]
        size = getattr(self.speaker, "conversations_at_once", None)
        if size is None or not held:
            stages = [alone, tuple(held)]
        else:
            cut = [replace(part, prompts=rows) for part in held for rows in part.prompts.iter_slices(size)]
            stages = [alone, *((part,) for part in cut)]
        return [_plan(parts, self.fingerprint, self.speaker) for parts in stages if parts]

    def plan_next_round(self, responses: pl.DataFrame) -> "Plan | None":
        """Return the plan of the next utterances of unfinished conversations, after all requests of this plan have
        responses.

        `responses` has the columns request_id, text and error. A conversation whose last reply failed has ended. None
        if no conversation continues.
        """
        parts = []
        for part in self.parts:
            if isinstance(part.request, ConversationRequest) and self.speaker is not None:
                rows = conversing.plan_next_replies(part.prompts, responses, part.request, self.speaker)
                if rows.height:
                    parts.append(
                        _with_ids(PlanPart(part.benchmark, rows, part.request), self.speaker.fingerprint)
                    )
        return _plan(tuple(parts), self.fingerprint, self.speaker) if parts else None

    def find_answered(self, responses: pl.DataFrame) -> pl.Series:
        """Return the identifiers of requests that have responses for all samples.

        `responses` has the columns request_id and sample, each pair once.
        """
        counts = responses.group_by("request_id").len("there")
        known = counts.join(self.requests.select("request_id", "samples"), on="request_id")
        return known.filter(pl.col("there") >= pl.col("samples"))["request_id"]

    def pending(self, done_ids: pl.Series | Iterable[str]) -> pl.DataFrame:
        """Return the requests without a response, in the order of the plan, with the columns of `requests`.

        `done_ids` are identifiers of requests with a response; unknown ones are ignored.

        >>> frame = pl.DataFrame({"prompt_id": ["a", "b"], "text": ["Hi.", "Hello."]})
        >>> plan = make_plan([PlanPart("greetings", frame)], {"name": "a model"})
        >>> plan.pending(plan.requests["request_id"][:1])["text"].to_list()
        ['Hi.']
        """
        ids = done_ids if isinstance(done_ids, pl.Series) else pl.Series(list(done_ids), dtype=pl.String)
        done = pl.DataFrame({"request_id": ids.cast(pl.String)})
        return self.requests.join(done, on="request_id", how="anti", maintain_order="left")


def make_plan(
    parts: Sequence[PlanPart], fingerprint: Mapping[str, Any], speaker: TextGenerator | None = None
) -> Plan:
    """Make a plan: give every prompt its request, and list each distinct request once.

    Two benchmarks with the same text share the request and its response.

    Parameters
    ----------
    parts : sequence of Part
        One per benchmark.
    fingerprint : mapping of str
        Fingerprint of the model.
    speaker : TextGenerator, optional
        Model that replies in conversations, given histories as lines of text.

    Returns
    -------
    Plan
        The plan. Its prompts have a column `request_id`, in the given order.

    Raises
    ------
    UsageError
        There are no requests or no speaker, or a benchmark occurs twice.
    DataError
        A table of prompts lacks a column, has one that the engine writes itself, or has a null or repeated
        key.

    Notes
    -----
    For conversations, only the first reply is planned. `Plan.plan_next_round` plans the next ones.

    Examples
    --------
    >>> frame = pl.DataFrame({"prompt_id": ["a", "b", "c"], "text": ["Hi.", "Hello.", "Hi."]})
    >>> plan = make_plan([PlanPart("greetings", frame)], {"name": "a model"})
    >>> plan.parts[0].prompts.height, plan.requests["text"].to_list()
    (3, ['Hello.', 'Hi.'])
    """
    names = [part.benchmark for part in parts]
    if not names:
        raise UsageError("No benchmark was given.", "Give at least one benchmark or suite.")
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(
            f"These benchmarks were given more than once: {', '.join(repeated)}.", "Give each once."
        )
    planned = []
    for part in parts:
        request, asked_of = part.request, fingerprint
        _check(part.benchmark, part.prompts, generates=not isinstance(request, ScoreRequest))
        if isinstance(request, ConversationRequest):
            if speaker is None:
                raise UsageError(
                    f"{part.benchmark!r} requires conversations, but no speaker was given.",
                    "Pass speaker=... with the plan.",
                )
            rows = conversing.plan_first_replies(part.benchmark, part.prompts, request, speaker)
            part, asked_of = PlanPart(part.benchmark, rows, request), speaker.fingerprint
        planned.append(_with_ids(part, asked_of))
    return _plan(tuple(planned), fingerprint, speaker)


def _plan(parts: tuple[PlanPart, ...], fingerprint: Mapping[str, Any], speaker: TextGenerator | None) -> Plan:
    requests = pl.concat([_requests(part) for part in parts])
    # longest first, so that texts that do not fit in memory show at once; likelihoods are sorted to share prefixes
    # instead
    length = pl.when(pl.col("decoding").is_not_null()).then(-pl.col("text").str.len_bytes().cast(pl.Int64))
    # keep_tokens is sorted last, descending, so that of two equal requests the one that keeps tokens remains
    order = [*KINDS, length, "context", "text", "span_start", "span_end", "keep_tokens"]
    requests = requests.sort(order, descending=[False] * (len(order) - 1) + [True])
    requests = requests.unique(subset="request_id", keep="first", maintain_order=True)
    return Plan(parts, requests, fingerprint, speaker)


def _with_ids(part: PlanPart, fingerprint: Mapping[str, Any]) -> PlanPart:
    prompts = part.prompts
    contexts = prompts["context"].to_list() if _has_values(prompts, "context") else None
    spans = span_list(prompts) if _has_values(prompts, "span_start") else None
    starts = prompts["start_token"].to_list() if _has_values(prompts, "start_token") else None
    texts = prompts[_asked_text(part)].to_list()
    ids = request_ids(texts, contexts, spans, part.request, fingerprint, starts)
    with_ids = prompts.with_columns(pl.Series("request_id", ids, dtype=pl.String))
    return PlanPart(part.benchmark, with_ids, part.request)


def _check(benchmark: str, prompts: pl.DataFrame, *, generates: bool) -> None:
    where = f"The prompts of {benchmark!r}"
    if prompts.is_empty():
        raise UsageError(
            f"{where} are empty: no prompt matches the selection.",
            "Use more --axis values, or a larger --limit.",
        )
    if lacking := [column for column in PROMPT_KEYS if column not in prompts.columns]:
        raise DataError(
            f"{where} have no column {', '.join(lacking)}.", f"Found: {', '.join(prompts.columns)}."
        )
    reserved = RESERVED | CONTINUATION if generates else RESERVED
    if taken := sorted(reserved & set(prompts.columns)):
        raise DataError(
            f"{where} have a column that is reserved for evenhand: {', '.join(taken)}.", "Rename this column."
        )
    for column in PROMPT_KEYS:
        if nulls := prompts[column].null_count():
            raise DataError(
                f"{where} have {nulls} rows without a {column}.", "Fill in this column, or remove these rows."
            )
    if repeated := prompts.height - prompts["prompt_id"].n_unique():
        raise DataError(
            f"{where} have {repeated} rows with a repeated prompt_id.", "Give each prompt a unique prompt_id."
        )
    if ("span_start" in prompts.columns) != ("span_end" in prompts.columns):
        raise DataError(
            f"{where} have only one of the columns span_start and span_end.",
            "Add the other column, or remove this one.",
        )
    known = get_args(StartToken)
    if _has_values(prompts, "start_token") and (
        unknown := sorted(set(prompts["start_token"].drop_nulls().cast(pl.String)) - set(known))
    ):
        raise DataError(
            f"{where} have the unknown value {unknown[0]!r} in the column start_token.",
            f"Expected {', '.join(known)}, or nothing. If this is your own column, rename it.",
        )
    if generates and (scored := [name for name in ENGINE_COLUMNS if _has_values(prompts, name)]):
        raise DataError(
            f"{where} are prompts for generated text, but have values of {', '.join(scored)}, which is only used "
            "for likelihoods.",
            "Put the context before the text, or rename the column.",
        )


def _requests(part: PlanPart) -> pl.DataFrame:
    prompts = part.prompts
    scoring = part.request if isinstance(part.request, ScoreRequest) else ScoreRequest()
    return prompts.select(
        "request_id",
        pl.col(_asked_text(part)).alias("text"),
        *[
            pl.col(name).cast(kind) if name in prompts.columns else pl.lit(None, dtype=kind).alias(name)
            for name, kind in ENGINE_COLUMNS.items()
        ],
        pl.lit(scoring.masking, dtype=pl.String).alias("masking"),
        pl.lit(scoring.keep_tokens).alias("keep_tokens"),
        pl.lit(decoding_json(part.request), dtype=pl.String).alias("decoding"),
        pl.lit(count_samples(part.request), dtype=pl.UInt16).alias("samples"),
        pl.lit(isinstance(part.request, ConversationRequest)).alias("conversing"),
    )


def _asked_text(part: PlanPart) -> str:
    return conversing.HISTORY if isinstance(part.request, ConversationRequest) else "text"


def _has_values(frame: pl.DataFrame, column: str) -> bool:
    return column in frame.columns and frame[column].null_count() < frame.height


def span_list(frame: pl.DataFrame) -> list[tuple[int, int] | None]:
    """Return the span of each row as (start, end) in characters; None if there is none.

    >>> span_list(pl.DataFrame({"span_start": [0, None], "span_end": [3, None]}))
    [(0, 3), None]
    """
    pairs = zip(frame["span_start"].to_list(), frame["span_end"].to_list(), strict=True)
    return [None if start is None or end is None else (start, end) for start, end in pairs]
