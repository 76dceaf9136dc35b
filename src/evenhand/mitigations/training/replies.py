"""Replies of dialogues as training examples: the history is read, and only the reply is learned."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from evenhand.mitigations.training.examples import EncodeReply, Examples, Ints, reply_examples
from evenhand.mitigations.training.material import Encoding
from evenhand.models.dialogue import History
from evenhand.schema import DataError

PROBED = History((), ("Hi!",))
"""History with which the tokens at the end of replies are determined."""


@dataclass(frozen=True)
class Reply:
    """A reply in a conversation, with its history.

    history: what the speaker knows. target: the reply. label: text at the end of the history, for this turn only; ""
    for none.
    """

    history: History
    target: str
    label: str = ""

    def line(self) -> str:
        """Return history and target (without the label) as one line of JSON; equal replies give equal lines.

        >>> reply = Reply(History((), ("Hi! My name is Martha.",)), "Hello, Martha.")
        >>> Reply.from_line(reply.line()) == reply
        True
        """
        return json.dumps([self.history.prompt(), self.target], ensure_ascii=False)

    @classmethod
    def from_line(cls, line: str, label: str = "") -> "Reply":
        """Return the reply of a line that `line` wrote, with a label."""
        prompt, target = json.loads(line)
        return cls(History.from_prompt(prompt), target, label)


def replies_to_learn(replies: Sequence[Reply], encoding: Encoding) -> Examples:
    """Return replies after their histories as examples, in the model's own dialogue format.

    encoding: defines how both are tokenised, and the maximum length. Raises DataError if the format is unknown, and for
    replies without a token.
    """
    encode, start = _format(encoding), encoding.decoder_start
    return reply_examples(encoded_replies(replies, encode, encoding.longest, apart=start is not None), start)


def reply_tokens(encoding: Encoding) -> tuple[Callable[[list[str]], list[list[int]]], tuple[int, ...]]:
    """Return a function that tokenises replies as the model generates them, without end tokens; and the end tokens.

    The end tokens are the common last tokens of two different replies. Raises DataError if the format is unknown.
    """
    encode = _format(encoding)

    def encode_reply(text: str) -> list[int]:
        return [int(token) for token in encode(PROBED, text, "")[1]]

    ends = list[int]()
    for one, other in zip(reversed(encode_reply("Yes")), reversed(encode_reply("A dog")), strict=False):
        if one != other:
            break
        ends.insert(0, one)

    def encode_without_end(texts: list[str]) -> list[list[int]]:
        found = map(encode_reply, texts)
        return [ids[: len(ids) - len(ends)] if ids[len(ids) - len(ends) :] == ends else ids for ids in found]

    return encode_without_end, tuple(ends)


def _format(encoding: Encoding) -> EncodeReply:
    if encoding.reply is None:
        raise DataError(
            "The dialogue format of this model is unknown.",
            "Train on texts instead of dialogues, or use a conversational model.",
        )
    return encoding.reply


def encoded_replies(
    replies: Sequence[Reply], encode: EncodeReply, longest: int, *, apart: bool = False
) -> list[tuple[Ints, Ints]]:
    """Return the tokens of each history and target, together at most `longest` tokens.

    If a target is too long, its end is cut off, to `longest` - 1 tokens. If both together are too long, the beginning
    of the history is cut off, so that a label at its end remains.

    apart: True for an encoder-decoder model. Its encoder reads the history and its decoder the target, each up to
    `longest` tokens.

    >>> cut = lambda history, target, label: (list(range(10)), [100, 101])
    >>> [(h.tolist(), t.tolist()) for h, t in encoded_replies([Reply(History((), ("Hi",)), "Yo")], cut, 5)]
    [([7, 8, 9], [100, 101])]
    """
    found = []
    for reply in replies:
        history, target = encode(reply.history, reply.target, reply.label)
        kept = np.asarray(target, dtype=np.int64)[: longest - 1]
        room = longest if apart else longest - len(kept)
        found.append((np.asarray(history, dtype=np.int64)[-room:], kept))
    return found
