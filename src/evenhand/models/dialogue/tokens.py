"""Convert a history to a model's tokens, and shorten it if it is too long."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Protocol

from evenhand.models.contract import Generations
from evenhand.models.decoding import Decoding
from evenhand.models.dialogue.contract import TokenModel
from evenhand.models.dialogue.gathering import error_generations, join_generations, written_by_rule
from evenhand.models.dialogue.history import History, Speaker
from evenhand.schema import DataError, ResponseError, Unsupported

if TYPE_CHECKING:
    from evenhand.models.writing import KeptStates

NOTHING_SAID = History((), ("",))
REMEMBERED = 1 << 15
"""Number of texts whose tokens are cached."""


@dataclass(frozen=True)
class HistoryTokens:
    """A complete history in tokens.

    front, end: tokens that are always read, such as a start token and an end token. turns: tokens of persona and
    utterances. opener: index in `turns` of the first token of the first utterance; None if there is none. head: number
    of tokens before the second utterance, including its delimiter. behind: number of tokens at the end of `turns` that
    are not part of an utterance, such as a label.

    >>> told = HistoryTokens([1], [5, 6, 7, 8, 9], [2], opener=1, head=2)
    >>> told.last(5), told.last(5, pinned=True)
    ([1, 7, 8, 9, 2], [1, 5, 6, 9, 2])
    >>> told.is_open(5), told.is_open(5, pinned=True), told.is_open(6)
    (False, True, True)
    """

    front: list[int]
    turns: list[int]
    end: list[int]
    opener: int | None
    head: int
    behind: int = 0

    def last(self, most: int | None, *, pinned: bool = False) -> list[int] | None:
        """Return at most `most` tokens: the last ones, after persona and first utterance if these are pinned.

        None if nothing of the last utterance would remain.
        """
        room = self._room(most)
        if room is None or len(self.turns) <= room:
            return [*self.front, *self.turns, *self.end]
        tail = room - self.head if pinned else room
        if tail <= self.behind:
            return None
        head = self.turns[: self.head] if pinned else []
        return [*self.front, *head, *self.turns[-tail:], *self.end]

    def is_open(self, most: int | None, *, pinned: bool = False) -> bool:
        """Return whether `last` returns the whole first utterance."""
        if self.opener is None or self.last(most, pinned=pinned) is None:
            return False
        room = self._room(most)
        return pinned or room is None or len(self.turns) - room <= self.opener

    def _room(self, most: int | None) -> int | None:
        return None if most is None else most - len(self.front) - len(self.end)


class Layout(Protocol):
    """Interface of a conversation format in tokens."""

    def tokenize_history(self, history: History, label: str | None) -> HistoryTokens:
        """Return the complete history in tokens, with a label at its end."""
        ...

    def reply(self, history: History, text: str, label: str | None) -> list[int]:
        """Return the tokens of a reply to the history, including the end that the model generates."""
        ...

    def normal_spelling(self, text: str) -> str:
        """Return a generated reply in normal spelling."""
        ...

    def stops(self, speaker: Speaker) -> tuple[str, ...]:
        """Return the strings at which the speaker's utterance ends."""
        ...

    def facts(self) -> dict[str, Any]:
        """Return everything in the format that determines what the model reads, JSON-serialisable."""
        ...


@dataclass(frozen=True)
class TokenTelling:
    """A model that receives conversations in its own tokens.

    most: maximum number of tokens of a history that are read. pinned, label: see `DialogueOptions`. kept: stored states
    of earlier turns.
    """

    model: TokenModel
    layout: Layout
    most: int | None = None
    pinned: bool = False
    label: str | None = None
    kept: "KeptStates | None" = None

    def facts(self) -> dict[str, Any]:
        """Return the facts of the layout, and how much of a history is read."""
        return {"told_in": "tokens", **self.layout.facts(), "truncate": self.most, "pinned": self.pinned}

    def work(self) -> dict[str, Any]:
        """Return the number of tokens that were not read again."""
        return {} if self.kept is None else {"kept": self.kept.describe()}

    def write(self, histories: Sequence[History], keys: Sequence[str], decoding: Decoding) -> Generations:
        """Reply to each history (see `Telling.write`)."""
        most = self._most_tokens(decoding.max_new_tokens)
        read = [
            self._tokenize_history(history, self.label).last(most, pinned=self.pinned)
            for history in histories
        ]
        good = [i for i, ids in enumerate(read) if ids]
        bad = [i for i, ids in enumerate(read) if not ids]
        rules = [with_stops(decoding, self.layout.stops(histories[i].speaker)) for i in good]

        def write(rows: list[int], rule: Decoding) -> Generations:
            places = [good[row] for row in rows]
            ids = [read[i] or [] for i in places]
            return self.model.generate_ids(ids, [keys[i] for i in places], rule, kept=self.kept)

        errors = [self._error(read[i], decoding) for i in bad]
        parts = [(bad, error_generations(errors, decoding.samples))] if bad else []
        if good:
            written = written_by_rule(rules, write)
            texts = [None if text is None else self.layout.normal_spelling(text) for text in written.texts]
            parts.append((good, replace(written, texts=texts)))
        return join_generations(parts)

    def window(self, history: History, max_new_tokens: int) -> bool:
        """Return whether the first utterance is read completely (see `Telling.window`)."""
        return self._tokenize_history(history, self.label).is_open(
            self._most_tokens(max_new_tokens), pinned=self.pinned
        )

    def encoded(self, history: History, target: str, label: str | None) -> tuple[list[int], list[int]]:
        """Return the tokens of a history and a reply (see `Dialogue.encoded`)."""
        label = self.label if label is None else label
        reply = self.layout.reply(history, target, label)
        most = most_before(self.model, self.most, reply)
        ids = self._tokenize_history(history, label).last(most, pinned=self.pinned)
        if not ids:
            raise does_not_fit(history, most)
        return ids, reply

    def check_room(self, called: str) -> None:
        """Raise Unsupported if the label and the format's own tokens leave no room for a history."""
        empty, most = self.layout.tokenize_history(NOTHING_SAID, self.label), self._most_tokens(0)
        around = len(empty.front) + len(empty.turns) + len(empty.end)
        if most is not None and most <= around:
            label = f" and the label {self.label[:40]!r}" if self.label else ""
            raise Unsupported(
                f"{called} reads {most} tokens of a conversation, and the tokens around an utterance{label} "
                f"already take {around}: no utterance fits.",
                "Use a shorter label, or a larger truncate."
                if self.label
                else "Use a larger truncate, or a model with a longer context.",
            )

    def _tokenize_history(self, history: History, label: str | None) -> HistoryTokens:
        told = self.layout.tokenize_history(history, label)
        if not history.utterances:
            return told
        return replace(told, behind=len(self.layout.tokenize_history(NOTHING_SAID, label).turns))

    def _most_tokens(self, behind: int) -> int | None:
        return most_tokens(self.model, self.most, behind)

    def _error(self, read: list[int] | None, decoding: Decoding) -> tuple[ResponseError, str]:
        if read is not None:
            return ResponseError.EMPTY_TEXT, "the history holds neither a persona nor an utterance"
        most = self._most_tokens(decoding.max_new_tokens)
        what = (
            "persona and first utterance"
            if self.pinned
            else "the tokens around the history, a label among them,"
        )
        return ResponseError.TOO_LONG, f"{what} leave no room for what was said last: {most} tokens are read"


def most_tokens(model: TokenModel, most: int | None, behind: int) -> int | None:
    """Return the maximum number of tokens of a history that can be read.

    It is at most `most`. A causal model must also leave room for the reply. behind: number of tokens of the reply.
    """
    if model.longest is None:
        return most
    room = model.longest - behind if model.architecture == "causal" else model.longest
    return room if most is None else min(most, room)


def most_before(model: TokenModel, most: int | None, reply: Sequence[int]) -> int | None:
    """Return the maximum number of tokens of a history before a training reply: the rest of the
    context, at least half.
    """
    return most_tokens(model, most, min(len(reply), (model.longest or 0) // 2))


def does_not_fit(history: History, most: int | None) -> DataError:
    """Return the error for a history without any learnable part."""
    said = len(history.utterances)
    return DataError(
        f"A history of {said} utterances does not fit: the last utterance alone is longer than {most} tokens.",
        "Remove the conversation, or use a larger truncate.",
    )


def with_stops(decoding: Decoding, more: tuple[str, ...]) -> Decoding:
    """Return the decoding with further stop strings.

    >>> with_stops(Decoding(max_new_tokens=5, stop=("###",)), ("\\n",)).stop
    ('###', '\\n')
    """
    return replace(decoding, stop=tuple(dict.fromkeys((*decoding.stop, *more))))


def one_line(text: str) -> str:
    """Return a text in which each run of white space is one space."""
    return " ".join(text.split())


class Cutter:
    """A tokenizer without special tokens, as conversation formats use it. It caches tokenised turns."""

    def __init__(self, tokenizer: Any, name: str):
        self.tokenizer, self.name = tokenizer, name
        self._backend = getattr(tokenizer, "backend_tokenizer", None)
        self._cut = lru_cache(REMEMBERED)(self._encode_with_ends)

    def ids(self, text: str) -> list[int]:
        """Return the token ids of a text; empty for an empty text."""
        return list(self._cut(text)[0]) if text else []

    def ids_until(self, text: str, character: int) -> tuple[list[int], int]:
        """Return the token ids of a text, and the number of them that end before a character position."""
        ids, ends = self._cut(text)
        return list(ids), next((k for k, end in enumerate(ends) if end > character), len(ids))

    def _encode_with_ends(self, text: str) -> tuple[list[int], list[int]]:
        # such tokenizers give no positions, and no format that needs positions uses them
        if self._backend is None:
            return self.tokenizer(text, add_special_tokens=False)["input_ids"], []
        encoding = self._backend.encode(text, add_special_tokens=False)
        return encoding.ids, [end for _, end in encoding.offsets]

    @cached_property
    def end(self) -> int:
        """Return the id of the end token. Raise Unsupported if the tokenizer has none."""
        if self.tokenizer.eos_token_id is None:
            raise Unsupported(
                f"The tokenizer of {self.name} has no end token, which this format needs between or after turns.",
                "Save the tokenizer that the model was trained with, or use the format transcript.",
            )
        return int(self.tokenizer.eos_token_id)

    @cached_property
    def _special(self) -> list[str]:
        """Return the special tokens as text."""
        added = getattr(self.tokenizer, "added_tokens_decoder", {}).values()
        marked = [str(one.content) for one in added if one.special]
        return [one for one in dict.fromkeys([*self.tokenizer.all_special_tokens, *marked]) if one.strip()]

    def check_label(self, label: str) -> None:
        """Raise Unsupported for a label that the tokenizer cannot represent, or only with a special token.

        Differences in case and white space are accepted, because some model families use lower case only.
        """
        special = [one for one in self._special if one in label]
        if special:
            raise Unsupported(
                f"The label {label!r} contains {special[0]!r}, a special token of {self.name}'s tokenizer.",
                "Use a label of plain words.",
            )
        ids = self.ids(label)
        unknown = self.tokenizer.unk_token_id
        back = self.tokenizer.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False)
        strange = unknown is not None and unknown != self.tokenizer.eos_token_id and unknown in ids
        if (
            strange
            or not label.strip()
            or "".join(back.split()).casefold() != "".join(label.split()).casefold()
        ):
            raise Unsupported(
                f"The tokenizer of {self.name} cannot represent the label {label!r}: decoded, it is {back!r}.",
                "Use a label of characters that the model knows, such as letters and spaces.",
            )
