"""Language modelling and a debiasing term beside it: L = lambda_LM L_LM + lambda_D L_D, from one pass of the model.

Source: RedditBias, equation 2.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from evenhand.mitigations.training.examples import Batch
from evenhand.mitigations.training.objective import hidden_and_logits, token_losses
from evenhand.schema import unknown_name

if TYPE_CHECKING:
    from torch import Tensor

BY_BATCH = {
    "summed": "The term is a sum over a batch, not a mean over occurrences, and a step the mean over its batches: what "
    "a term weighs depends on the batch size.",
    "bare-language-model": "In a batch without a term the language model's loss has weight 1, not lambda_LM.",
    "fixed-embeddings": "No gradient of the term flows into the output embeddings of the targets.",
}
"""Quirks that the three published losses share. Source: methods/redditbias_selfdebias_consistency.md, section 3."""


class LossTerm(Protocol):
    """A debiasing term that is computed from the states the output head is given."""

    @property
    def name(self) -> str:
        """Of the term: "lmd"."""
        ...

    def size(self, batch: Batch) -> int:
        """Occurrences in the batch."""
        ...

    def sum(self, hidden: "Tensor", weight: "Tensor", bias: "Tensor | None", batch: Batch) -> "Tensor":
        """The term summed over them: hidden (rows, length, size), weight (vocabulary, size), bias (vocabulary,)."""
        ...


@dataclass(frozen=True)
class WeightedDebiasing:
    """lambda_LM times the mean surprise of a token plus lambda_D times the mean of a term over its occurrences.

    lm_weight, weight: the two lambdas. quirks: of `BY_BATCH`.
    """

    term: LossTerm
    lm_weight: float
    weight: float
    quirks: frozenset[str] = frozenset()

    @property
    def pooled(self) -> bool:
        """Unless it is summed by batch, as published."""
        return "summed" not in self.quirks

    def weights(self, batch: Batch) -> Mapping[str, float]:
        """The two lambdas."""
        if "bare-language-model" in self.quirks and not self.term.size(batch):
            return {"lm": 1.0, self.term.name: 0.0}
        return {"lm": self.lm_weight, self.term.name: self.weight}

    def sizes(self, batch: Batch) -> Mapping[str, float]:
        """Tokens that are learned, and occurrences."""
        return {"lm": batch.learned, self.term.name: 1 if "summed" in self.quirks else self.term.size(batch)}

    def sums(self, model: Any, batch: Batch) -> "Mapping[str, Tensor]":
        """Both, from one pass."""
        import torch

        hidden, logits = hidden_and_logits(model, batch)
        found = {"lm": token_losses(logits, batch.labels)}
        head = _head(model)
        weight, bias = head.weight, getattr(head, "bias", None)
        if "fixed-embeddings" in self.quirks:
            weight, bias = weight.detach(), None if bias is None else bias.detach()
        with torch.autocast(hidden.device.type, enabled=False):  # small, and differences of large numbers
            found[self.term.name] = self.term.sum(hidden.to(weight.dtype), weight, bias, batch)
        return found


def chosen_quirks(given: tuple[str, ...], as_published: bool, known: Mapping[str, str]) -> frozenset[str]:
    """The quirks that are switched on: those named, or all. Raises UsageError for unknown ones."""
    for name in given:
        if name not in known:
            raise unknown_name("quirk", name, known)
    return frozenset(known if as_published else given)


def _head(model: Any) -> Any:
    while not hasattr(model, "get_output_embeddings"):
        model = model.module
    return model.get_output_embeddings()
