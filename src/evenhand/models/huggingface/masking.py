"""Make the inputs of a masked model: hide each token in one of three ways, and list each distinct input once."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.models.contract import BLANK, Texts
from evenhand.schema import ResponseError, UsageError

Ids = NDArray[np.int32]


@dataclass
class MaskedInputs:
    """Distinct masked token sequences, and the tokens to predict in them.

    Sentences from one template differ in few places, so many of their masked inputs are the same. Each is
    listed once in `inputs`. The four lists of targets have the same length and the order of the texts.
    """

    inputs: list[Ids] = field(default_factory=list)
    target_inputs: list[int] = field(default_factory=list)
    target_positions: list[int] = field(default_factory=list)
    target_tokens: list[int] = field(default_factory=list)
    target_starts: list[int] = field(default_factory=list)  # first character in the text
    counts: list[int] = field(default_factory=list)  # targets of each text
    errors: list[ResponseError | None] = field(default_factory=list)
    details: list[str | None] = field(default_factory=list)
    known: dict[bytes, int] = field(default_factory=dict)  # place of each input in the list

    def open_row(self, targets: int, error: ResponseError | None, detail: str | None) -> None:
        """Start the next text with its number of targets, or with the error if it has none."""
        self.errors.append(error)
        self.details.append(detail)
        self.counts.append(0 if error else targets)

    def ask(self, masked: Ids, position: int, token: int, start: int) -> None:
        """Add a target: a token at a position of a masked input. `start` is its first character in the text."""
        index = self.known.setdefault(masked.tobytes(), len(self.inputs))
        if index == len(self.inputs):
            self.inputs.append(masked)
        self.target_inputs.append(index)
        self.target_positions.append(position)
        self.target_tokens.append(token)
        self.target_starts.append(max(0, start))


def masked_inputs(tokenizer: Any, batch: Texts, longest: int | None = None) -> MaskedInputs:
    """Return masked inputs in which every token that is scored is hidden.

    Parameters
    ----------
    tokenizer
        A fast tokenizer with a mask token.
    batch : Texts
        The texts. A context precedes its text as plain text (`Texts.joined`). It is visible but never masked.
    longest : int, optional
        Maximum number of tokens of an input, including special tokens.

    Raises
    ------
    UsageError
        There are spans with the masking "blank".

    Notes
    -----
    The masking "token" (the default) hides one token at a time (Salazar et al. 2020). "word" also hides the
    rest of its word to the right, so that later parts of a word do not reveal its first one (Kauf and Ivanova
    2023). "blank" is described at `_filled_blanks`. Special tokens are never scored.
    """
    if batch.masking == "blank":
        return _filled_blanks(tokenizer, batch, longest)
    result = MaskedInputs()
    strings, boundaries = batch.joined()
    encodings = tokenizer.backend_tokenizer.encode_batch(strings, add_special_tokens=True)
    rows = zip(batch.texts, encodings, boundaries, batch.all_spans, strict=True)
    for text, encoding, boundary, span in rows:
        ids = np.array(encoding.ids, dtype=np.int32)
        positions = _own_positions(encoding, boundary, span)
        error, detail = _problem(text, len(ids), positions, longest)
        result.open_row(len(positions), error, detail)
        if error:
            continue
        words = encoding.word_ids
        for position in positions:
            masked = ids.copy()
            stop = _end_of_word(words, position) if batch.masking == "word" else position + 1
            masked[position:stop] = tokenizer.mask_token_id
            result.ask(masked, position, int(ids[position]), encoding.offsets[position][0] - boundary)
    return result


def _filled_blanks(tokenizer: Any, batch: Texts, longest: int | None) -> MaskedInputs:
    """Fill each text into BLANK of its context from left to right, with one mask after the tokens so far.

    As in StereoSet's program, strings are joined. The text is tokenised alone, and its tokens so far are
    decoded and put, with the mask, in place of BLANK. If a context has several blanks, all are filled, and
    the first mask is predicted. White space at the start of a text determines how its first token is split
    (RoBERTa has different tokens after a space). It is not doubled if there is already white space before
    BLANK.
    """
    if any(span is not None for span in batch.all_spans):
        raise UsageError(
            'The masking "blank" works with whole texts, but spans were given.',
            f"Give the span as the text, and the sentence with {BLANK} in its place as the context.",
        )
    backend, result = tokenizer.backend_tokenizer, MaskedInputs()
    alone = backend.encode_batch(list(batch.texts), add_special_tokens=False)
    strings: list[str] = []
    for context, word in zip(batch.all_contexts, alone, strict=True):
        before, blank, _ = context.partition(BLANK)
        for k in range(len(word.ids) if blank else 0):
            read = tokenizer.decode(word.ids[:k]) if k else ""
            if before[-1:].isspace() and read[:1].isspace():
                read = read[1:]
            strings.append(context.replace(BLANK, f"{read}{tokenizer.mask_token}"))
    filled = iter(backend.encode_batch(strings, add_special_tokens=True))
    for text, context, word in zip(batch.texts, batch.all_contexts, alone, strict=True):
        inputs = [np.array(next(filled).ids, dtype=np.int32) for _ in word.ids if BLANK in context]
        error, detail = _problem(text, max(map(len, inputs), default=0), inputs, longest)
        if error is ResponseError.NO_SCORED_TOKEN:
            detail = f"its context has no {BLANK} to be filled" if word.ids else "the text has no tokens"
        result.open_row(len(inputs), error, detail)
        for masked, token, place in zip(inputs, word.ids, word.offsets, strict=False):
            if error is None:
                position = int(np.flatnonzero(masked == tokenizer.mask_token_id)[0])
                result.ask(masked, position, int(token), place[0])
    return result


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
    text: str, length: int, own: Sequence[Any], longest: int | None
) -> tuple[ResponseError | None, str | None]:
    if not text.strip():
        return ResponseError.EMPTY_TEXT, "the text is empty or white space"
    if longest is not None and length > longest:
        return ResponseError.TOO_LONG, f"{length} tokens; the model takes at most {longest}"
    if not own:
        return ResponseError.NO_SCORED_TOKEN, "the span to be scored contains no token of the text"
    return None, None
