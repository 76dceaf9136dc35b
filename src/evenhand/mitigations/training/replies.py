"""Replies of dialogues as examples: a history, what was said next, and only that is learned."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from evenhand.mitigations.training.examples import EncodeReply, Examples, Ints, reply_examples
from evenhand.mitigations.training.material import Encoding
from evenhand.models.dialogue import History
from evenhand.schema import DataError

PROBED = History((), ("Hi!",))
"""Behind which it is tried how replies end."""


@dataclass(frozen=True)
class Reply:
    """What was said next in a conversation.

    history: as the one who says it knows it. target: what was said. label: text at the end of the history, for this
    turn only; "" for none.
    """

    history: History
    target: str
    label: str = ""

    def line(self) -> str:
        """History and target as one line of JSON, the same for equal ones; without the label.

        >>> reply = Reply(History((), ("Hi! My name is Martha.",)), "Hello, Martha.")
        >>> Reply.of(reply.line()) == reply
        True
        """
        return json.dumps([self.history.prompt(), self.target], ensure_ascii=False)

    @classmethod
    def of(cls, line: str, label: str = "") -> "Reply":
        """The reply of a line that `line` wrote, with a label."""
        prompt, target = json.loads(line)
        return cls(History.of(prompt), target, label)


def replies_to_learn(replies: Sequence[Reply], encoding: Encoding) -> Examples:
    """Replies behind their histories, in a model's own format of dialogues; the replies alone are learned.

    encoding: defines how both become tokens, and how many are read. Raises DataError where the format is not known, and
    for replies without a token.
    """
    encode, start = _format(encoding), encoding.decoder_start
    return reply_examples(encoded_replies(replies, encode, encoding.longest, apart=start is not None), start)


def reply_tokens(encoding: Encoding) -> tuple[Callable[[list[str]], list[list[int]]], tuple[int, ...]]:
    """How replies become tokens as the model writes them, without their end; and the tokens of that end.

    The end is what two replies have in common behind their last words. Raises DataError where the format is not known.
    """
    encode = _format(encoding)

    def whole(text: str) -> list[int]:
        return [int(token) for token in encode(PROBED, text, "")[1]]

    ends = list[int]()
    for one, other in zip(reversed(whole("Yes")), reversed(whole("A dog")), strict=False):
        if one != other:
            break
        ends.insert(0, one)

    def cut(texts: list[str]) -> list[list[int]]:
        found = map(whole, texts)
        return [ids[: len(ids) - len(ends)] if ids[len(ids) - len(ends) :] == ends else ids for ids in found]

    return cut, tuple(ends)


def _format(encoding: Encoding) -> EncodeReply:
    if encoding.reply is None:
        raise DataError(
            "The dialogue format of this model is unknown.",
            "Give texts to learn, or a model that converses.",
        )
    return encoding.reply


def encoded_replies(
    replies: Sequence[Reply], encode: EncodeReply, longest: int, *, apart: bool = False
) -> list[tuple[Ints, Ints]]:
    """The tokens of each history and target, together `longest` at most.

    apart: of an encoder and a decoder, each `longest` at most, with a token more in front of a target. Of what is too
    long the end of the target is cut first, down to `longest` less one token; then the beginning of the history, which
    a label at its end outlives.

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
