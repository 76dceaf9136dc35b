"""Steering: combine a model's next-token distribution with its distributions after other contexts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from evenhand.models.contract import Generations, LanguageModel, Likelihoods, Texts
from evenhand.models.decoding import Decoding
from evenhand.schema import Unsupported, UsageError
from evenhand.weights import refuse_light

if TYPE_CHECKING:
    import torch


@runtime_checkable
class CombinationRule(Protocol):
    """Interface of a rule that combines next-token distributions, for all rows and contexts at once."""

    def combine(self, regular: "torch.Tensor", steered: "torch.Tensor") -> "torch.Tensor":
        """Return the normalised log probabilities for sampling, shape (rows, vocabulary).

        `regular` (rows, vocabulary) are log probabilities after the prompt alone. `steered` (contexts, rows,
        vocabulary) are those after each context and the prompt.
        """
        ...

    def parameters(self) -> dict[str, Any]:
        """Return name and constants of the rule, as JSON-serialisable data."""
        ...


@dataclass(frozen=True)
class Steering:
    """Additional contexts, each placed before every prompt, and the rule that combines the resulting distributions.

    Parameters
    ----------
    contexts : tuple of str
        At least one text. White space is allowed (for the consistency check), an empty text is not.
    rule : CombinationRule
        How distributions are combined.
    front : str
        Text before both the prompt and the contexts, such as the instruction of another mitigation.

    Raises
    ------
    UsageError
        There is no context, or an empty one.
    """

    contexts: tuple[str, ...]
    rule: CombinationRule
    front: str = ""

    def __post_init__(self) -> None:
        if not self.contexts:
            raise UsageError(
                "The list of steering contexts is empty.",
                "Give at least one text that leads the model to what it should avoid (or seek).",
            )
        if "" in self.contexts:
            raise UsageError(
                f"Context {self.contexts.index('') + 1} of {len(self.contexts)} is empty, so it would have no "
                "effect.",
                "To test a blank context, use a single space.",
            )

    def parameters(self) -> dict[str, Any]:
        """Return contexts and rule as JSON-serialisable data."""
        return {"contexts": list(self.contexts), "rule": self.rule.parameters()}

    @property
    def rows(self) -> int:
        """Return the number of rows of the model per continuation: one without context, and one per context."""
        return 1 + len(self.contexts)

    def combine_logits(self, logits: "torch.Tensor") -> "torch.Tensor":
        """Return the log probabilities for sampling, shape (groups, vocabulary).

        `logits` (groups, 1 + contexts, vocabulary) are float32, those without context first. Forbidden tokens are minus
        infinity in all of them.
        """
        log_probs = logits.log_softmax(-1).transpose(0, 1)
        return self.rule.combine(log_probs[0], log_probs[1:])


@runtime_checkable
class SteerableModel(LanguageModel, Protocol):
    """Interface of a model that returns next-token distributions after several contexts at once."""

    def generate_steered(
        self,
        prompts: Sequence[str],
        decoding: Decoding,
        steering: Steering,
        keys: Sequence[str] | None = None,
    ) -> Generations:
        """Continue each prompt with the distribution that a rule combines from several contexts (see
        TextGenerator.generate).

        Random numbers depend on the prompt without context, or on keys (see KeyedGenerator). The log-likelihood of a
        continuation uses the combined distribution before temperature, top-k and top-p.
        """
        ...

    def steered_log_likelihoods(self, texts: Texts | Sequence[str], steering: Steering) -> Likelihoods:
        """Return the log probability of each token under the combined distributions (see
        LanguageModel.log_likelihoods).
        """
        ...


def steerable(model: LanguageModel) -> SteerableModel:
    """Return the model if it can be steered.

    Raises Unsupported, with an alternative, for models that do not return whole next-token distributions.
    """
    if isinstance(model, SteerableModel):
        return model
    name = model.fingerprint.get("name", "This model")
    if model.architecture == "masked":
        raise Unsupported(
            f"{name} is a masked language model. Steering combines next-token distributions, which it does not "
            "have.",
            "Use a causal or encoder-decoder model.",
        )
    refuse_light(model, f"Steering {name}")
    raise Unsupported(
        f"{name} ({type(model).__name__}) does not support steering: it needs the complete next-token "
        "distributions for several contexts at each step, which servers, vLLM and other black-box models do not "
        "provide.",
        "Load the weights as a Hugging Face model, or use an instruction, which works with any model: --mitigate "
        'prefix="..." or --mitigate instructive-debiasing.',
    )
