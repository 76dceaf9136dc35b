"""What a masked model is given: each token hidden in one of three ways, and each distinct input once."""

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
    known: dict[bytes, int] = field(default_factory=dict)  # place of each input in the list

    def open_row(self, targets: int, error: ResponseError | None, detail: str | None) -> None:
        """Begin the next text: how many tokens will be asked of it, or why none is."""
        self.errors.append(error)
        self.details.append(detail)
        self.counts.append(0 if error else targets)

    def ask(self, masked: Ids, position: int, token: int, start: int) -> None:
        """Ask for a token at a position of a masked input; start: its first character in the text."""
        index = self.known.setdefault(masked.tobytes(), len(self.inputs))
        if index == len(self.inputs):
            self.inputs.append(masked)
        self.target_inputs.append(index)
        self.target_positions.append(position)
        self.target_tokens.append(token)
        self.target_starts.append(max(0, start))


def masked_inputs(tokenizer: Any, batch: Texts, longest: int | None = None) -> MaskedInputs:
    """Mask every token that is to be scored.

    tokenizer: a fast tokenizer with a mask token. batch: a context precedes its text as plain
    text (`Texts.joined`), and is visible but never masked. Masking "token", the default, hides one token at a time
    (Salazar et al. 2020), "word" also the rest of its word to the right, so that a word's later pieces do not
    give its first one away (Kauf and Ivanova 2023), "blank" is that of `_filled_blanks`. longest: most tokens of
    an input, special ones included. Special tokens are never scored. Raises UsageError for spans with "blank".
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
    """Each text read from the left into BLANK of its context, one mask behind what has been read.

    As in StereoSet's program it is strings that are put together: the text is cut into tokens by itself, and what has
    been read of it, decoded, stands with the mask in place of BLANK. A context with several is filled at all of them,
    and the first mask is asked. White space that begins a text says how its first token is cut (RoBERTa knows another
    one behind a space) and is not doubled where BLANK stands behind white space already.
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
