"""Convert contexts and texts to token pairs for encoder and decoder, each distinct pair once."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.models.contract import Texts
from evenhand.schema import ResponseError

Ids = NDArray[np.int64]


@dataclass
class TextPairs:
    """Distinct pairs of encoder and decoder tokens (lists by pair), and the pair of each text (lists by row)."""

    contexts: list[Ids] = field(default_factory=list)  # distinct encoder inputs
    context_of: list[int] = field(default_factory=list)  # by pair
    # by pair; the decoder's target, including special tokens
    targets: list[Ids] = field(default_factory=list)
    scored: list[Ids] = field(default_factory=list)  # by pair; positions in the target
    starts: list[Ids] = field(default_factory=list)  # by pair; first character of each scored token
    pair_of: list[int | None] = field(default_factory=list)  # by row; None if the row has an error
    errors: list[ResponseError | None] = field(default_factory=list)
    details: list[str | None] = field(default_factory=list)


def text_pairs(
    tokenizer: Any, batch: Texts, *, silence: str | None = None, end: bool = True, longest: int | None = None
) -> TextPairs:
    """Encode contexts for the encoder and texts as targets of the decoder, each with the tokenizer's special tokens.

    Special tokens before the target are not scored. After it, only the end token is kept. It is scored if `end` is True
    and the row has no span, and added if the tokenizer adds none. `silence` is read by the encoder for rows without a
    context. `longest` is the maximum number of tokens on either side.
    """
    result = TextPairs()
    all_contexts = [context or silence or "" for context in batch.all_contexts]
    distinct = dict.fromkeys(all_contexts, 0)
    for index, (context, encoding) in enumerate(
        zip(distinct, _encode_strings(tokenizer, list(distinct)), strict=True)
    ):
        distinct[context] = index
        result.contexts.append(np.array(encoding.ids or [tokenizer.eos_token_id], dtype=np.int64))
    known: dict[tuple[int, str, tuple[int, int] | None], int] = {}
    rows = zip(
        batch.texts, all_contexts, batch.all_spans, _encode_strings(tokenizer, list(batch.texts)), strict=True
    )
    for text, context, span, encoding in rows:
        own_context = distinct[context]
        key = (own_context, text, span)
        if key in known:
            result.pair_of.append(known[key])
            result.errors.append(None)
            result.details.append(None)
            continue
        target, scored, starts = _target(tokenizer, text, encoding, span, end)
        error, detail = _problem(text, len(result.contexts[own_context]), len(target), len(scored), longest)
        result.errors.append(error)
        result.details.append(detail)
        result.pair_of.append(None if error else len(result.targets))
        if error is None:
            known[key] = len(result.targets)
            result.context_of.append(own_context)
            result.targets.append(target)
            result.scored.append(scored)
            result.starts.append(starts)
    return result


def _encode_strings(tokenizer: Any, strings: list[str]) -> list[Any]:
    encodings: list[Any] = tokenizer.backend_tokenizer.encode_batch(strings, add_special_tokens=True)
    return encodings


def _target(
    tokenizer: Any, text: str, encoding: Any, span: tuple[int, int] | None, end: bool
) -> tuple[Ids, Ids, Ids]:
    ordinary = np.flatnonzero(np.array(encoding.special_tokens_mask, dtype=np.int64) == 0)
    ids = np.array(encoding.ids, dtype=np.int64)
    if len(ordinary) == 0:
        return ids[:0], ordinary, ordinary
    places = np.array(encoding.offsets, dtype=np.int64)[ordinary]
    target, starts = ids[: ordinary[-1] + 1], places[:, 0]
    if span is not None:
        inside = (places[:, 0] < span[1]) & (places[:, 1] > span[0])
        return target, ordinary[inside], starts[inside]
    if end and tokenizer.eos_token_id is not None:
        target = np.append(target, tokenizer.eos_token_id)
        return target, np.append(ordinary, len(target) - 1), np.append(starts, len(text))
    return target, ordinary, starts


def _problem(
    text: str, context_length: int, target_length: int, scored: int, longest: int | None
) -> tuple[ResponseError | None, str | None]:
    if not text.strip():
        return ResponseError.EMPTY_TEXT, "the text is empty or white space"
    if longest is not None and max(context_length, target_length) > longest:
        return (
            ResponseError.TOO_LONG,
            f"{context_length} tokens of context, {target_length} of text; the model takes {longest} of each",
        )
    if scored == 0:
        return ResponseError.NO_SCORED_TOKEN, "the span to be scored contains no token of the text"
    return None, None
