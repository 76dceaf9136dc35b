"""What a speaker knows when it is its turn: its own persona and what was said so far; also as one line of text.

As text a history is a prompt like any other: it can be planned, asked once, stored and resumed.
"""

import json
from dataclasses import dataclass
from typing import Any, Literal

from evenhand.schema import DataError, parse_json

Speaker = Literal["A", "B"]


@dataclass(frozen=True)
class History:
    """A conversation of two, as the one who speaks next sees it. Speaker A opens.

    persona: sentences about the one who speaks next, such as "i like tea."; never about the other. utterances: all so
    far, the oldest first; an empty reply is an empty string. chat: which conversation this is, where replies are drawn:
    no format shows it to the model, and draws depend on it, so that two conversations that came to the same words go
    on apart. Empty if nothing is random.

    >>> history = History(("i like tea.",), ("Hi! My name is Martha.",))
    >>> history.speaker, history.turn, History.of(history.prompt()) == history
    ('B', 2, True)
    """

    persona: tuple[str, ...]
    utterances: tuple[str, ...]
    chat: str = ""

    @property
    def speaker(self) -> Speaker:
        """Who speaks next."""
        return "A" if len(self.utterances) % 2 == 0 else "B"

    @property
    def turn(self) -> int:
        """Number of the utterance that comes next; 1 is the opener."""
        return len(self.utterances) + 1

    def prompt(self) -> str:
        """The history as one line of JSON, the same for equal histories."""
        said: dict[str, Any] = {"persona": list(self.persona), "utterances": list(self.utterances)}
        if self.chat:
            said["chat"] = self.chat
        return json.dumps(said, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def of(cls, prompt: str) -> "History":
        """The history of a line that `prompt` wrote. Raises DataError for anything else."""
        try:
            said = parse_json(prompt)
            persona, utterances, chat = said["persona"], said["utterances"], said.get("chat", "")
            if not all(isinstance(one, str) for one in (*persona, *utterances, chat)):
                raise TypeError
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(
                f"{prompt[:60]!r} is not a conversation history.",
                'Expected one line such as {"persona":["i like tea."],"utterances":["Hi! My name is Martha."]}.',
            ) from error
        return cls(tuple(persona), tuple(utterances), chat)
