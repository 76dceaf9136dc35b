"""Convert a history to a chat: the instruction, the other speaker as the user, and the acting speaker as the assistant.

Chat templates differ in the messages that they accept. Speaker A opens a conversation. From A's side it therefore
begins with the assistant, which many templates refuse ("roles must alternate"). Some templates have no system message.
The layouts in `WAYS` are tried once, in order, and the accepted one is part of the fingerprint.
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
    """A layout of messages.

    system: whether the instruction is a separate message; otherwise it precedes the first message of the user. opening:
    whether a neutral message of the user precedes A's opener.
    """

    system: bool
    opening: bool


WAYS = (Way(system=True, opening=False), Way(system=True, opening=True), Way(system=False, opening=True))


@dataclass(frozen=True)
class Chat:
    """Converts histories to messages.

    instruction: text before the persona. Raises UsageError for an instruction that makes the speaker an assistant,
    because self-chats would then become conversations between a service and its customer.
    """

    way: Way
    instruction: str = INSTRUCTION

    def __post_init__(self) -> None:
        check_instruction(self.instruction)

    def messages(
        self, history: History, label: str | None, kept: Sequence[int] | None = None
    ) -> list[Message]:
        """Return the messages that the next speaker reads. kept: numbers of the utterances (from 0) to include; None:
        all.

        >>> chat = Chat(Way(system=False, opening=True), "Chat.")
        >>> [one["role"] for one in chat.messages(History((), ("Hi!", "Hello.")), None)]
        ['user', 'assistant', 'user']
        """
        n = len(history.utterances)
        told: list[Message] = [
            {
                # speakers take turns, and the last utterance was the other speaker's
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
        """Return the layout and all texts that evenhand adds."""
        way = {"instruction": self.instruction, "persona": ABOUT, "way": asdict(self.way)}
        return {**way, "opening": OPENING}


def check_instruction(text: str) -> None:
    """Raise UsageError for an instruction that asks for the service of an assistant."""
    if SERVICE.search(text):
        raise UsageError(
            f"The system message {text[:80]!r} makes the model an assistant: its self-chats would be "
            "customer-service conversations.",
            "Use a system message that does not, or remove it to use the neutral default.",
        )


def shorter(n: int, *, pinned: bool) -> Iterator[list[int]]:
    """Return the utterances to read, as indices, in shorter and shorter selections that start with a user's message.

    Whole utterances are left out, the oldest first, and never the last. If `pinned`, the first utterance always
    remains.

    >>> list(shorter(4, pinned=False))
    [[0, 1, 2, 3], [1, 2, 3], [3]]
    >>> list(shorter(5, pinned=True))
    [[0, 1, 2, 3, 4], [0, 3, 4]]
    """
    yield list(range(n))
    front = [0] if pinned and n else []
    # leave out utterances in pairs, so that roles still alternate
    first = 3 if pinned else 1 + n % 2
    for start in range(first, n, 2):
        yield [*front, *range(start, n)]


def chosen_way(refuses: Callable[[list[Message]], str | None]) -> tuple[Way | None, list[str]]:
    """Return the first layout that the template fully accepts (or None), and the reasons against the others.

    refuses: function that returns why messages are refused, or None.
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
