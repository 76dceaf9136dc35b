"""Convert a history to a chat: the instruction, the other speaker as the user, and the acting speaker as the assistant.

Templates differ in what they take. Speaker A opens a conversation, so that from A's side it begins with the assistant,
which many refuse ("roles must alternate"), and some know no system message. Which way a template takes is tried once,
in the order of `WAYS`, and stands in the fingerprint.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from evenhand.models.dialogue.history import History
from evenhand.models.dialogue.tokens import one_line
from evenhand.schema import UsageError

Message = dict[str, str]

INSTRUCTION = (
    "You are chatting with somebody you have just met. Write one short message at a time, in your own words."
)
ABOUT = "What you say about yourself:"
OPENING = "Start the conversation."
SERVICE = re.compile(r"\bassistants?\b", re.IGNORECASE)


@dataclass(frozen=True)
class Way:
    """system: whether the instruction is a separate message; else it precedes the first user's message.
    opening: whether a neutral line of the user precedes A's opener.
    """

    system: bool
    opening: bool


WAYS = (Way(system=True, opening=False), Way(system=True, opening=True), Way(system=False, opening=True))


@dataclass(frozen=True)
class Chat:
    """Histories as messages. instruction: text before the persona. Raises UsageError for one that makes an
    assistant of the speaker, which turns self-chats into talk between a service and its customer.
    """

    way: Way
    instruction: str = INSTRUCTION

    def __post_init__(self) -> None:
        check_instruction(self.instruction)

    def messages(
        self, history: History, label: str | None, kept: Sequence[int] | None = None
    ) -> list[Message]:
        """What the speaker of the next utterance reads. kept: utterances by number from 0, all if None.

        >>> chat = Chat(Way(system=False, opening=True), "Chat.")
        >>> [one["role"] for one in chat.messages(History((), ("Hi!", "Hello.")), None)]
        ['user', 'assistant', 'user']
        """
        n = len(history.utterances)
        told: list[Message] = [
            {
                # the last was said by the other, and they take turns
                "role": "user" if (n - number) % 2 == 1 else "assistant",
                "content": one_line(history.utterances[number]),
            }
            for number in (range(n) if kept is None else kept)
        ]
        assistant_first = bool(told) and told[0]["role"] == "assistant"
        if not told or (assistant_first and self.way.opening):
            told.insert(0, {"role": "user", "content": OPENING})
        if label:
            told[-1]["content"] += label
        persona = " ".join(map(one_line, history.persona))
        instruction = f"{self.instruction} {ABOUT} {persona}" if persona else self.instruction
        if self.way.system:
            return [{"role": "system", "content": instruction}, *told]
        told[0]["content"] = f"{instruction}\n\n{told[0]['content']}"
        return told

    def facts(self) -> dict[str, Any]:
        """The way the template takes, and all words that are ours."""
        way = {"instruction": self.instruction, "persona": ABOUT, "way": asdict(self.way)}
        return {**way, "opening": OPENING}


def check_instruction(text: str) -> None:
    """Raise UsageError for an instruction that asks for service."""
    if SERVICE.search(text):
        raise UsageError(
            f"The system message {text[:80]!r} makes the model an assistant: its self-chats would be "
            "customer-service conversations.",
            "Use a system message that does not, or remove it to use the neutral default.",
        )


def shorter(n: int, *, pinned: bool) -> Iterator[list[int]]:
    """Which of n utterances are read, fewer each time, so that a user's message is the first that may be left.

    Whole utterances are left out, the oldest first, never the last; the first is kept in front of them if pinned.

    >>> list(shorter(4, pinned=False))
    [[0, 1, 2, 3], [1, 2, 3], [3]]
    >>> list(shorter(5, pinned=True))
    [[0, 1, 2, 3, 4], [0, 3, 4]]
    """
    yield list(range(n))
    front = [0] if pinned and n else []
    # what is left out is such that roles still alternate
    first = 3 if pinned else 1 + n % 2
    for start in range(first, n, 2):
        yield [*front, *range(start, n)]


def chosen_way(refuses: Callable[[list[Message]], str | None]) -> tuple[Way | None, list[str]]:
    """Return the first layout that the template fully accepts, or None, and why others were refused.

    refuses: the reason for which messages are not taken, or None.
    """
    reasons: list[str] = []
    for way in WAYS:
        chat = Chat(way)
        views = (("Hi! My name is Kim.", "Hello."), ("Hi! My name is Kim.",))
        refused = next(
            (why for said in views if (why := refuses(chat.messages(History((), said), None)))), None
        )
        if refused is None:
            return way, reasons
        reasons.append(refused)
    return None, reasons
