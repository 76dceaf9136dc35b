"""Models whose prompts are histories themselves, such as a World that converses: histories are passed unchanged."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from evenhand.models.contract import Generations
from evenhand.models.decoding import Decoding
from evenhand.models.dialogue.contract import Converser, no_tokens
from evenhand.models.dialogue.history import History


@dataclass(frozen=True)
class AsItIs:
    """A conversation format that passes histories to the model unchanged."""

    model: Converser

    def facts(self) -> dict[str, Any]:
        """Return a note that nothing was changed."""
        return {"told_in": "histories"}

    def work(self) -> dict[str, Any]:
        """Return an empty dict."""
        return {}

    def write(self, histories: Sequence[History], keys: Sequence[str], decoding: Decoding) -> Generations:
        """Reply to each history (see `Telling.write`); the random numbers depend on the histories."""
        return self.model.generate(keys, decoding)

    def window(self, history: History, max_new_tokens: int) -> bool:
        """Return True, because everything is read."""
        return bool(history.utterances)

    def encoded(self, history: History, target: str, label: str | None) -> tuple[list[int], list[int]]:
        """Raise Unsupported, because there are no tokens."""
        raise no_tokens(self.model)
