"""What a way of telling a model of conversations offers; `Dialogue` knows no more of formats than this."""

from collections.abc import Sequence
from typing import Any, Protocol

from evenhand.models.contract import Generations
from evenhand.models.decoding import Decoding
from evenhand.models.dialogue.history import History


class Telling(Protocol):
    """One model told of conversations in one format."""

    def facts(self) -> dict[str, Any]:
        """JSON-serialisable: all of the format that decides what the model reads."""
        ...

    def write(self, histories: Sequence[History], keys: Sequence[str], decoding: Decoding) -> Generations:
        """Reply to each history `decoding.samples` times. keys: n texts on which draws depend."""
        ...

    def window(self, history: History, max_new_tokens: int) -> bool:
        """Whether utterance 1 stands wholly in what the model reads."""
        ...

    def encoded(self, history: History, target: str, label: str | None) -> tuple[list[int], list[int]]:
        """Token ids of the history and of the reply behind it. Raises Unsupported where there are no tokens."""
        ...
