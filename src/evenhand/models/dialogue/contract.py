"""The interface of a conversation format; `Dialogue` uses nothing else of a format."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from evenhand.models.contract import Generations, TextGenerator
from evenhand.models.decoding import Decoding
from evenhand.models.dialogue.history import History
from evenhand.schema import Unsupported

if TYPE_CHECKING:
    from evenhand.models.writing import KeptStates


class Telling(Protocol):
    """Interface of a model that receives conversations in one format."""

    def facts(self) -> dict[str, Any]:
        """Return everything in the format that determines what the model reads, JSON-serialisable."""
        ...

    def work(self) -> dict[str, Any]:
        """Return what was saved or left out so far, JSON-serialisable, for the manifest."""
        ...

    def write(self, histories: Sequence[History], keys: Sequence[str], decoding: Decoding) -> Generations:
        """Reply to each history `decoding.samples` times. keys: n texts on which the random numbers depend."""
        ...

    def window(self, history: History, max_new_tokens: int) -> bool:
        """Return whether the model reads the whole first utterance."""
        ...

    def encoded(self, history: History, target: str, label: str | None) -> tuple[list[int], list[int]]:
        """Return the token ids of the history and of the reply after it. Raise Unsupported if tokens are unknown."""
        ...


@runtime_checkable
class TokenModel(TextGenerator, Protocol):
    """Interface of a text generator that accepts token ids: Hugging Face models and vLLM."""

    tokenizer: Any
    longest: int | None

    def generate_ids(
        self,
        prompts: Sequence[Sequence[int]],
        keys: Sequence[str],
        decoding: Decoding,
        *,
        kept: "KeptStates | None" = None,
    ) -> Generations:
        """Continue token ids, special ones included (see CausalModel.generate_ids)."""
        ...


@runtime_checkable
class Converser(TextGenerator, Protocol):
    """Interface of a text generator whose prompts are lines written by `History.prompt`, such as a World."""

    answers_histories: bool


def no_tokens(model: TextGenerator) -> Unsupported:
    """Return the error for training a model with unknown tokens."""
    name = model.fingerprint.get("name", "This model")
    return Unsupported(
        f"The tokens of {name} ({type(model).__name__}) are not known.",
        "Load its weights as a Hugging Face model.",
    )
