"""What a run will ask: every benchmark's prompts, and the distinct requests behind them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from evenhand.runs.requests import ScoreRequest, fingerprint_digest, request_ids
from evenhand.schema import DataError, UsageError
from evenhand.schema.tables import PROMPT_KEYS, RESPONSES

REQUESTS = {
    "request_id": pl.String,
    "text": pl.String,
    "context": pl.String,
    "span_start": pl.UInt32,
    "span_end": pl.UInt32,
    "masking": pl.String,
    "keep_tokens": pl.Boolean,
}
ENGINE_COLUMNS = {"context": pl.String, "span_start": pl.UInt32, "span_end": pl.UInt32}
RESERVED = frozenset(RESPONSES) - {"text"} | {"perplexity"}


@dataclass(frozen=True)
class Part:
    """One benchmark's share of a run: its prompts and how they are put to the model."""

    benchmark: str
    prompts: pl.DataFrame
    """PROMPT_KEYS, the engine's optional columns and any group columns; in a plan also `request_id`."""
    request: ScoreRequest = field(default_factory=ScoreRequest)


@dataclass(frozen=True)
class Plan:
    """All requests of a run, each once, in the order in which they are asked."""

    parts: tuple[Part, ...]
    requests: pl.DataFrame
    """Columns REQUESTS; sorted so that neighbours share prefixes."""
    fingerprint: Mapping[str, Any]
    """Of the model the requests are for."""

    @property
    def digest(self) -> str:
        """The fingerprint in 64 hex characters."""
        return fingerprint_digest(self.fingerprint)

    def pending(self, done_ids: pl.Series | Iterable[str]) -> pl.DataFrame:
        """The requests that have no answer yet, in plan order.

        Arguments: done_ids: request identifiers that are answered; unknown ones are ignored.
        Returns: rows of `requests`. Source: DESIGN.md, "The engine" (resume is an anti-join).

        >>> frame = pl.DataFrame({"prompt_id": ["a", "b"], "text": ["Hi.", "Hello."]})
        >>> plan = make_plan([Part("greetings", frame)], {"name": "a model"})
        >>> plan.pending(plan.requests["request_id"][:1])["text"].to_list()
        ['Hi.']
        """
        ids = done_ids if isinstance(done_ids, pl.Series) else pl.Series(list(done_ids), dtype=pl.String)
        done = pl.DataFrame({"request_id": ids.cast(pl.String)})
        return self.requests.join(done, on="request_id", how="anti", maintain_order="left")


def make_plan(parts: Sequence[Part], fingerprint: Mapping[str, Any]) -> Plan:
    """Give every prompt its request, and list each distinct request of all parts once.

    Arguments: parts: one per benchmark. fingerprint: of the model that will answer.
    Returns: the plan; its prompts have a `request_id` column, in the order given.
    Raises UsageError if there is nothing to ask or a benchmark comes twice, DataError if a prompt
    table lacks a column, has one the engine writes itself, or holds a null or repeated key.
    Source: DESIGN.md, "The engine".

    >>> frame = pl.DataFrame({"prompt_id": ["a", "b", "c"], "text": ["Hi.", "Hello.", "Hi."]})
    >>> plan = make_plan([Part("greetings", frame)], {"name": "a model"})
    >>> plan.parts[0].prompts.height, plan.requests["text"].to_list()
    (3, ['Hello.', 'Hi.'])
    """
    names = [part.benchmark for part in parts]
    if not names:
        raise UsageError("The plan has no benchmark.", "Name at least one benchmark or suite.")
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(
            f"The plan has a benchmark more than once: {', '.join(repeated)}.", "Name each once."
        )
    planned = tuple(_with_ids(part, fingerprint) for part in parts)
    requests = pl.concat([_requests(part) for part in planned])
    # keep_tokens comes last and descending: of two equal requests the one that keeps tokens stays.
    order = ["masking", "context", "text", "span_start", "span_end", "keep_tokens"]
    requests = requests.sort(order, descending=[False] * 5 + [True])
    requests = requests.unique(subset="request_id", keep="first", maintain_order=True)
    return Plan(planned, requests, fingerprint)


def _with_ids(part: Part, fingerprint: Mapping[str, Any]) -> Part:
    prompts = part.prompts
    _check(part.benchmark, prompts)
    contexts = prompts["context"].to_list() if _has_values(prompts, "context") else None
    spans = span_list(prompts) if _has_values(prompts, "span_start") else None
    ids = request_ids(prompts["text"].to_list(), contexts, spans, part.request, fingerprint)
    with_ids = prompts.with_columns(pl.Series("request_id", ids, dtype=pl.String))
    return Part(part.benchmark, with_ids, part.request)


def _check(benchmark: str, prompts: pl.DataFrame) -> None:
    where = f"The prompts of {benchmark!r}"
    if prompts.is_empty():
        raise UsageError(
            f"{where} are empty: the selection leaves nothing to ask.", "Widen --axis or --limit."
        )
    if lacking := [column for column in PROMPT_KEYS if column not in prompts.columns]:
        raise DataError(
            f"{where} have no column {', '.join(lacking)}.", f"Found: {', '.join(prompts.columns)}."
        )
    if taken := sorted(RESERVED & set(prompts.columns)):
        raise DataError(
            f"{where} have a column that the engine writes itself: {', '.join(taken)}.", "Rename it."
        )
    for column in PROMPT_KEYS:
        if nulls := prompts[column].null_count():
            raise DataError(f"{where} have {nulls} rows without a {column}.", "Fill or remove them.")
    if repeated := prompts.height - prompts["prompt_id"].n_unique():
        raise DataError(f"{where} have {repeated} rows whose prompt_id stands before.", "Make them unique.")
    if ("span_start" in prompts.columns) != ("span_end" in prompts.columns):
        raise DataError(f"{where} have only one of span_start and span_end.", "Give both or neither.")


def _requests(part: Part) -> pl.DataFrame:
    prompts = part.prompts
    return prompts.select(
        "request_id",
        "text",
        *[
            pl.col(name).cast(kind) if name in prompts.columns else pl.lit(None, dtype=kind).alias(name)
            for name, kind in ENGINE_COLUMNS.items()
        ],
        pl.lit(part.request.masking, dtype=pl.String).alias("masking"),
        pl.lit(part.request.keep_tokens).alias("keep_tokens"),
    )


def _has_values(frame: pl.DataFrame, column: str) -> bool:
    return column in frame.columns and frame[column].null_count() < frame.height


def span_list(frame: pl.DataFrame) -> list[tuple[int, int] | None]:
    """The span of each row as (start, end) in characters, None where there is none.

    >>> span_list(pl.DataFrame({"span_start": [0, None], "span_end": [3, None]}))
    [(0, 3), None]
    """
    pairs = zip(frame["span_start"].to_list(), frame["span_end"].to_list(), strict=True)
    return [None if start is None or end is None else (start, end) for start, end in pairs]
