"""Tokens of a trigger: which are allowed, and whether the trigger's text is tokenised into the same tokens."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.mitigations.triggers.examples import Example
from evenhand.schema import DataError, UsageError

Trigger = tuple[int, ...]
FIRST_WORD = re.compile(r"\s*\S*")


def decode_tokens(tokenizer: Any, ids: Sequence[int]) -> str:
    """Return the characters of tokens, including special ones, without clean-up."""
    text: str = tokenizer.decode(list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False)
    return text


def usable_tokens(
    tokenizer: Any, rows: int, *, words_only: bool, exclude: Sequence[str] = ()
) -> NDArray[np.bool_]:
    """Return which tokens are allowed in a trigger, shape (rows,).

    Special tokens, white space, parts of characters and unprintable characters are never allowed.

    rows: number of rows of the model's embeddings; those beyond the tokenizer's vocabulary are not used. words_only:
    allow no punctuation and no digits, as published. exclude: words that a token must not be, ignoring case. Source:
    Sheng et al. 2020, section 3; ROBBIE, section B.3.3.
    """
    usable = np.zeros(rows, dtype=bool)
    special = set(tokenizer.all_special_ids)
    unwanted = {word.strip().lower() for word in exclude}
    known = sorted(set(tokenizer.backend_tokenizer.get_vocab(with_added_tokens=True).values()))
    ids = [i for i in known if i < rows and i not in special]
    texts = tokenizer.batch_decode([[i] for i in ids], clean_up_tokenization_spaces=False)
    for i, text in zip(ids, texts, strict=True):
        word = text.strip()
        usable[i] = (
            bool(word)
            and text.isprintable()
            and "\ufffd" not in text
            and word.lower() not in unwanted
            and not (words_only and any(_is_mark(letter) for letter in word))
        )
    return usable


def _is_mark(letter: str) -> bool:
    """Return whether a character is punctuation, a digit, or a symbol such as $ (punctuation in the
    published filter).
    """
    return unicodedata.category(letter)[0] in "PSN"


@dataclass(frozen=True)
class EncodedExamples:
    """Tokens of examples as they follow a trigger.

    ids: for each example, all tokens after the trigger. scored: for each example, which of these belong to the
    continuation. plain: ids and scored without trigger and separator.
    """

    ids: list[NDArray[np.int32]]
    scored: list[NDArray[np.bool_]]
    plain_ids: list[NDArray[np.int32]]
    plain_scored: list[NDArray[np.bool_]]

    @property
    def tokens(self) -> NDArray[np.int64]:
        """Return the number of tokens of each continuation."""
        return np.array([int(places.sum()) for places in self.scored], dtype=np.int64)


def encode_examples(
    tokenizer: Any, trigger: Trigger, separator: str, examples: Sequence[Example]
) -> EncodedExamples:
    """Split prompts and continuations into tokens in the way in which they are split after the trigger.

    A token that spans the end of the prompt belongs to the continuation. Raises DataError if the tokenizer does not
    split the joined text back into the trigger and the example.
    """
    front = decode_tokens(tokenizer, trigger) + separator
    behind = _encode_texts(tokenizer, [front + example.text + example.continuation for example in examples])
    plain = _encode_texts(tokenizer, [example.text + example.continuation for example in examples])
    ids, scored, plain_ids, plain_scored = [], [], [], []
    for example, full, bare in zip(examples, behind, plain, strict=True):
        if tuple(full.ids[: len(trigger)]) != trigger:
            raise DataError(_merges(tokenizer, trigger, separator, example, full.ids), MENDING)
        start = len(front) + len(example.text)
        ends = np.array([end for _, end in full.offsets[len(trigger) :]], dtype=np.int64)
        ids.append(np.array(full.ids[len(trigger) :], dtype=np.int32))
        scored.append(ends > start)
        plain_ids.append(np.array(bare.ids, dtype=np.int32))
        plain_scored.append(np.array([end > len(example.text) for _, end in bare.offsets], dtype=bool))
        if not scored[-1].any():
            raise DataError(
                f"The response {example.continuation[:60]!r} adds no token to the prompt.",
                "Remove this example.",
            )
    return EncodedExamples(ids, scored, plain_ids, plain_scored)


MENDING = "Choose another separator, or an initial trigger that the tokenizer does not merge with the text after it."


class RoundTrip:
    """Test whether the text of a trigger and a prompt is split back into the same tokens.

    Most tokenizers split the text after the first word independently, so the first words of prompts are sufficient. For
    other tokenizers the whole text is tested.
    """

    def __init__(self, tokenizer: Any, trigger: Trigger, separator: str, texts: Sequence[str]):
        self.tokenizer, self.separator = tokenizer, separator
        front = decode_tokens(tokenizer, trigger) + separator
        words = [found[0] if (found := FIRST_WORD.match(text)) else text for text in texts]
        cut = {
            text: encoding.ids[len(trigger) :]
            for some in (dict.fromkeys(words), dict.fromkeys(texts))
            for text, encoding in zip(
                some, _encode_texts(tokenizer, [front + one for one in some]), strict=True
            )
        }
        self.heads = {
            head: cut[head]
            for word, text in zip(words, texts, strict=True)
            for head in [word if cut[text][: len(cut[word])] == cut[word] else text]
        }

    def holds(self, triggers: Sequence[Trigger]) -> list[bool]:
        """Return, for each trigger, whether its text is split back into its tokens."""
        texts = [
            decode_tokens(self.tokenizer, trigger) + self.separator + head
            for trigger in triggers
            for head in self.heads
        ]
        cut = iter(_encode_texts(self.tokenizer, texts))
        return [
            all([next(cut).ids == [*trigger, *tail] for tail in self.heads.values()]) for trigger in triggers
        ]


def initial_trigger(tokenizer: Any, initial: str | None, tokens: int | None, separator: str) -> Trigger:
    """Return the trigger with which a search starts.

    initial: a phrase, or None for " the" at every position. tokens: length of the trigger, filled up with " the"; None:
    length of the phrase, or six. Raises UsageError if the phrase is longer, and DataError if the tokenizer does not
    split its text back into the same tokens.
    """
    wanted = 6 if tokens is None and initial is None else tokens
    if wanted is not None and wanted < 1:
        raise UsageError(f"The length of the trigger must be at least 1 token, got {wanted}.")
    backend = tokenizer.backend_tokenizer
    # tokenizers that add a space before a text would split " the" into two tokens
    for phrase in dict.fromkeys([initial] if initial is not None else [" the", "the"]):
        text = phrase
        ids = backend.encode(text, add_special_tokens=False).ids
        while wanted is not None and len(ids) < wanted:
            text += " the"
            ids = backend.encode(text, add_special_tokens=False).ids
        if not ids:
            raise UsageError(
                f"The initial trigger {initial!r} has no tokens.",
                "Give an initial phrase of one word or more.",
            )
        if wanted is not None and len(ids) > wanted and initial is not None:
            raise UsageError(
                f"The initial trigger {initial!r} has {len(ids)} tokens, but the length of the trigger is "
                f"{wanted}.",
                "Use a shorter phrase, or a longer trigger.",
            )
        trigger = tuple(ids)
        if wanted is not None and len(ids) != wanted:
            continue
        if backend.encode(decode_tokens(tokenizer, ids), add_special_tokens=False).ids == ids:
            return trigger
    raise DataError(
        f"The tokens of the initial trigger {initial or ' the'!r} change when they are decoded and encoded again.",
        "Use an `initial` phrase whose tokens are whole words.",
    )


def random_trigger(
    draw: np.random.Generator,
    start: Trigger,
    locked: Sequence[int],
    usable: NDArray[np.bool_],
    trip: RoundTrip,
) -> Trigger:
    """Return random tokens at all positions that are not locked, such that the text is split back into them.

    Raises DataError if a thousand attempts per position fail.
    """
    pool = np.flatnonzero(usable)
    trigger = start
    for place in range(len(start)):
        if place in locked:
            continue
        for _ in range(50):
            drawn = draw.choice(pool, size=min(20, len(pool)), replace=False)
            tried = [(*trigger[:place], int(token), *trigger[place + 1 :]) for token in drawn]
            fits = [made for made, good in zip(tried, trip.holds(tried), strict=True) if good]
            if fits:
                trigger = fits[0]
                break
        else:
            raise DataError(
                f"No random token found for position {place + 1} that stays the same when it is decoded and "
                "encoded again.",
                MENDING,
            )
    return trigger


def _encode_texts(tokenizer: Any, texts: Sequence[str]) -> list[Any]:
    backend = tokenizer.backend_tokenizer
    backend.no_truncation()
    backend.no_padding()
    encodings: list[Any] = backend.encode_batch(list(texts), add_special_tokens=False)
    return encodings


def _merges(tokenizer: Any, trigger: Trigger, separator: str, example: Example, ids: list[int]) -> str:
    came = decode_tokens(tokenizer, ids[: len(trigger)])
    return (
        f"The tokenizer merges the trigger {decode_tokens(tokenizer, trigger)!r} with the text after it: before "
        f"{(separator + example.text + example.continuation)[:40]!r}, the first {len(trigger)} tokens are {came!r}."
    )
