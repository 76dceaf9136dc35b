"""What a way of telling a model of conversations offers; `Dialogue` knows no more of formats than this."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from evenhand.models.contract import Generations, TextGenerator
from evenhand.models.decoding import Decoding
from evenhand.models.dialogue.history import History
from evenhand.schema import Unsupported

if TYPE_CHECKING:
    from evenhand.models.writing import KeptStates


class Telling(Protocol):
    """One model that receives conversations in one format."""

    def facts(self) -> dict[str, Any]:
        """JSON-serialisable: all of the format that decides what the model reads."""
        ...

    def work(self) -> dict[str, Any]:
        """JSON-serialisable: what was saved or left out so far, for the manifest."""
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


@runtime_checkable
class TokenModel(TextGenerator, Protocol):
    """A text generator that receives its own tokens: Hugging Face models and vLLM."""

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
    """A text generator whose prompts are histories already, lines that `History.prompt` wrote, such as a World."""

    answers_histories: bool


def no_tokens(model: TextGenerator) -> Unsupported:
    """Return the error for training a model with unknown tokens."""
    name = model.fingerprint.get("name", "This model")
    return Unsupported(
        f"The tokens of {name} ({type(model).__name__}) are not known.",
        "Load its weights as a Hugging Face model.",
    )
