"""Replies of dialogues as examples: a history, what was said next, and only that is learned."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from evenhand.mitigations.training.examples import IGNORED, Examples, Ints
from evenhand.models.dialogue import History
from evenhand.schema import DataError

EncodeReply = Callable[[History, str, str | None], tuple[Sequence[int], Sequence[int]]]
"""From a history, what was said next and a label ("": none) to the tokens of both, in a model's own format of dialogues."""


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


def encoded_replies(replies: Sequence[Reply], encode: EncodeReply, longest: int) -> list[tuple[Ints, Ints]]:
    """The tokens of each history and target, together `longest` at most.

    Of what is too long the end of the target is cut first, down to `longest` less one token of the history; then the
    beginning of the history, which a label at its end outlives.

    >>> cut = lambda history, target, label: (list(range(10)), [100, 101])
    >>> [(h.tolist(), t.tolist()) for h, t in encoded_replies([Reply(History((), ("Hi",)), "Yo")], cut, 5)]
    [([7, 8, 9], [100, 101])]
    """
    found = []
    for reply in replies:
        history, target = encode(reply.history, reply.target, reply.label)
        kept = np.asarray(target, dtype=np.int64)[: longest - 1]
        found.append((np.asarray(history, dtype=np.int64)[-(longest - len(kept)) :], kept))
    return found


def reply_examples(pairs: Sequence[tuple[Ints, Ints]]) -> Examples:
    """Examples of a causal model: history and target in one, of which the target alone is learned.

    pairs: see `encoded_replies`. Raises DataError where there are none.

    >>> reply_examples([(np.array([5, 6]), np.array([7]))]).labels[0].tolist()
    [-100, -100, 7]
    """
    if not all(len(target) and len(history) for history, target in pairs):
        raise DataError(
            "A history or a reply has no token in this model's format of dialogues.",
            "Leave empty openers and empty replies out, or name another format.",
        )
    return Examples(
        [np.concatenate(pair) for pair in pairs],
        [
            np.concatenate([np.full(len(history), IGNORED, dtype=np.int64), target])
            for history, target in pairs
        ],
    )
