"""The history of a conversation as the next speaker knows it, also as one line of text.

As text, a history is a prompt like any other, which can be planned, stored and resumed.
"""

import json
from dataclasses import dataclass
from typing import Any, Literal

from evenhand.schema import DataError, parse_json

Speaker = Literal["A", "B"]


@dataclass(frozen=True)
class History:
    """A conversation of speakers A and B up to now, as the next speaker sees it. A opens.

    Attributes
    ----------
    persona : tuple of str
        Sentences about the next speaker, such as "i like tea."; never about the other speaker.
    utterances : tuple of str
        All utterances, oldest first. An empty reply is an empty string.
    chat : str
        Identifies the conversation if replies are sampled; empty otherwise. The model does not see it, but random
        numbers depend on it. Two conversations with equal words therefore continue differently.

    >>> history = History(("i like tea.",), ("Hi! My name is Martha.",))
    >>> history.speaker, history.turn, History.from_prompt(history.prompt()) == history
    ('B', 2, True)
    """

    persona: tuple[str, ...]
    utterances: tuple[str, ...]
    chat: str = ""

    @property
    def speaker(self) -> Speaker:
        """Return the next speaker, "A" or "B"."""
        return "A" if len(self.utterances) % 2 == 0 else "B"

    @property
    def turn(self) -> int:
        """Return the number of the next utterance; 1 is the opener."""
        return len(self.utterances) + 1

    def prompt(self) -> str:
        """Return the history as one line of JSON. Equal histories give equal lines."""
        said: dict[str, Any] = {"persona": list(self.persona), "utterances": list(self.utterances)}
        if self.chat:
            said["chat"] = self.chat
        return json.dumps(said, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_prompt(cls, prompt: str) -> "History":
        """Return the history of a line that `prompt` wrote. Raise a DataError for anything else."""
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
