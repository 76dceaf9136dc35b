"""Models that answer histories themselves, such as a World that converses: nothing is put into another form."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from evenhand.models.contract import Generations
from evenhand.models.decoding import Decoding
from evenhand.models.dialogue.contract import Converser, no_tokens
from evenhand.models.dialogue.history import History


@dataclass(frozen=True)
class AsItIs:
    """A model whose prompts are lines of history already."""

    model: Converser

    def facts(self) -> dict[str, Any]:
        """That nothing was changed."""
        return {"told_in": "histories"}

    def work(self) -> dict[str, Any]:
        """Nothing."""
        return {}

    def write(self, histories: Sequence[History], keys: Sequence[str], decoding: Decoding) -> Generations:
        """See `Telling.write`; the keys are the lines."""
        return self.model.generate(keys, decoding)

    def window(self, history: History, max_new_tokens: int) -> bool:
        """All is read."""
        return bool(history.utterances)

    def encoded(self, history: History, target: str, label: str | None) -> tuple[list[int], list[int]]:
        """Raises Unsupported: there are no tokens."""
        raise no_tokens(self.model)
