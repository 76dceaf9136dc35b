"""Steering: what other contexts would make a model say next, combined with what it would say by itself."""

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
    """How next-token distributions are combined; works on all rows and contexts at once."""

    def combine(self, regular: "torch.Tensor", steered: "torch.Tensor") -> "torch.Tensor":
        """Log probabilities to draw from.

        regular: (rows, vocabulary), natural-log probabilities behind the prompt alone. steered: (contexts, rows,
        vocabulary), the same behind each context and the prompt. Returns (rows, vocabulary), normalised.
        """
        ...

    def parameters(self) -> dict[str, Any]:
        """JSON-serialisable: name and constants."""
        ...


@dataclass(frozen=True)
class Steering:
    """Extra contexts, each put in front of every prompt, and the rule that combines what they lead to.

    contexts: at least one text; a context of white space is allowed (the consistency protocol asks for it), an
    empty one is not: it would compare the model with itself. Raises UsageError otherwise. front: stands in front of
    the prompt and of context and prompt alike: an instruction that the model was given before it was steered.
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
        """JSON-serialisable: contexts and rule."""
        return {"contexts": list(self.contexts), "rule": self.rule.parameters()}

    @property
    def rows(self) -> int:
        """In how many rows of the model one continuation is written: by itself, and behind each context."""
        return 1 + len(self.contexts)

    def combined(self, logits: "torch.Tensor") -> "torch.Tensor":
        """Log probabilities to draw from, (groups, vocabulary).

        logits: (groups, 1 + contexts, vocabulary) float32, the regular ones first; tokens that may not come next
        are minus infinity in all of them, so that the rule sees distributions over those that may.
        """
        log_probs = logits.log_softmax(-1).transpose(0, 1)
        return self.rule.combine(log_probs[0], log_probs[1:])


@runtime_checkable
class SteerableModel(LanguageModel, Protocol):
    """A model whose next-token distributions can be had behind several contexts at once."""

    def generate_steered(
        self,
        prompts: Sequence[str],
        decoding: Decoding,
        steering: Steering,
        keys: Sequence[str] | None = None,
    ) -> Generations:
        """Continue each prompt by what the rule makes of the distributions (see TextGenerator.generate).

        Draws depend on the prompt without what stands in front of it, or on keys (see KeyedGenerator).
        A continuation's log-likelihood is that of its tokens under the combined distribution they were chosen from,
        in front of temperature, top-k and top-p.
        """
        ...

    def steered_log_likelihoods(self, texts: Texts | Sequence[str], steering: Steering) -> Likelihoods:
        """Log probability of each token under the combined distributions (see LanguageModel.log_likelihoods)."""
        ...


def steerable(model: LanguageModel) -> SteerableModel:
    """The model itself, if it can be steered.

    Raises Unsupported, with what works instead, for models of which whole next-token distributions are not at hand.
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
