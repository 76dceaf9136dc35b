"""Texts to masked inputs: which tokens are hidden, which are asked for, and nothing asked twice."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.models.contract import Masking
from evenhand.schema import ResponseError

Ids = NDArray[np.int32]


@dataclass
class MaskedInputs:
    """Distinct masked token sequences and the tokens asked of them.

    Sentences made from one template differ in few places, so that many of their masked inputs are the same:
    each is listed once in `inputs`. The four target lists run in parallel, in the order of the texts.
    """

    inputs: list[Ids] = field(default_factory=list)
    target_inputs: list[int] = field(default_factory=list)
    target_positions: list[int] = field(default_factory=list)
    target_tokens: list[int] = field(default_factory=list)
    target_starts: list[int] = field(default_factory=list)  # first character in the text
    counts: list[int] = field(default_factory=list)  # targets of each text
    errors: list[ResponseError | None] = field(default_factory=list)
    details: list[str | None] = field(default_factory=list)


def masked_inputs(
    tokenizer: Any,
    texts: Sequence[str],
    contexts: Sequence[str | None] | None = None,
    spans: Sequence[tuple[int, int] | None] | None = None,
    *,
    masking: Masking = "token",
    longest: int | None = None,
) -> MaskedInputs:
    """Mask every token that is to be scored.

    tokenizer: a fast tokenizer with a mask token. texts, contexts, spans: see LanguageModel.log_likelihoods;
    a context is put before its text as plain text, with one space between unless either side has white
    space there, and is visible but never masked. masking: "token" hides one token at a time (Salazar et
    al. 2020), "word" also the rest of its word to the right, so that a word's later pieces do not give its
    first one away (Kauf and Ivanova 2023), "blank" puts one mask in place of the span after those of its
    tokens already read (StereoSet); a row without span is then one span. longest: most tokens of an input,
    special ones included. Special tokens are never scored.
    """
    result = MaskedInputs()
    known: dict[bytes, int] = {}
    strings, boundaries = _joined(texts, contexts)
    encodings = tokenizer.backend_tokenizer.encode_batch(strings, add_special_tokens=True)
    all_spans = spans if spans is not None else [None] * len(texts)
    for text, encoding, boundary, span in zip(texts, encodings, boundaries, all_spans, strict=True):
        ids = np.array(encoding.ids, dtype=np.int32)
        own = _own_positions(encoding, boundary, span)
        error, detail = _problem(text, len(ids), own, longest)
        result.errors.append(error)
        result.details.append(detail)
        result.counts.append(0 if error else len(own))
        if error:
            continue
        words = encoding.word_ids
        for k, position in enumerate(own):
            behind = own[-1] if masking == "blank" else position
            masked = np.concatenate([ids[: position + 1], ids[behind + 1 :]])
            stop = _end_of_word(words, position) if masking == "word" else position + 1
            masked[position:stop] = tokenizer.mask_token_id
            index = known.setdefault(masked.tobytes(), len(result.inputs))
            if index == len(result.inputs):
                result.inputs.append(masked)
            result.target_inputs.append(index)
            result.target_positions.append(position)
            result.target_tokens.append(int(ids[own[k]]))
            result.target_starts.append(max(0, encoding.offsets[position][0] - boundary))
    return result


def _joined(texts: Sequence[str], contexts: Sequence[str | None] | None) -> tuple[list[str], list[int]]:
    if contexts is None:
        return list(texts), [0] * len(texts)
    strings, boundaries = [], []
    for text, context in zip(texts, contexts, strict=True):
        gap = " " if context and not context[-1].isspace() and not text[:1].isspace() else ""
        strings.append(f"{context or ''}{gap}{text}")
        boundaries.append(len(strings[-1]) - len(text))
    return strings, boundaries


def _own_positions(encoding: Any, boundary: int, span: tuple[int, int] | None) -> list[int]:
    low, high = (boundary, None) if span is None else (boundary + span[0], boundary + span[1])
    return [
        position
        for position, ((start, end), special) in enumerate(
            zip(encoding.offsets, encoding.special_tokens_mask, strict=True)
        )
        if not special and (end > low or (span is None and start >= low)) and (high is None or start < high)
    ]


def _end_of_word(words: list[int | None], position: int) -> int:
    stop = position + 1
    while stop < len(words) and words[stop] is not None and words[stop] == words[position]:
        stop += 1
    return stop


def _problem(
    text: str, length: int, own: list[int], longest: int | None
) -> tuple[ResponseError | None, str | None]:
    if not text.strip():
        return ResponseError.EMPTY_TEXT, "the text is empty or white space"
    if longest is not None and length > longest:
        return ResponseError.TOO_LONG, f"{length} tokens; the model takes at most {longest}"
    if not own:
        return ResponseError.NO_SCORED_TOKEN, "no token of the text lies in the span to be scored"
    return None, None
