"""Language modelling plus a debiasing term: L = lambda_LM L_LM + lambda_D L_D, from one pass of the model.

Source: RedditBias, equation 2.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Protocol
from weakref import WeakKeyDictionary

from evenhand.mitigations.training.examples import Batch
from evenhand.mitigations.training.objective import Logits, hidden_and_logits, infer_logits, token_losses
from evenhand.schema import UsageError, unknown_name

if TYPE_CHECKING:
    from torch import Tensor

BY_BATCH = {
    "summed": "The debiasing loss is the sum over a batch, not the mean over occurrences, and a step takes the "
    "mean over its batches. The weight of an occurrence therefore depends on the batch size.",
    "bare-language-model": "In a batch without any occurrence, the language model's loss has weight 1 instead of "
    "lambda_LM.",
    "fixed-embeddings": "The debiasing loss has no gradient with respect to the output embeddings of the targets.",
}
"""Quirks that all three published losses have. Source: RedditBias, section 5.1, and its published code."""


class LossTerm(Protocol):
    """Interface of a debiasing term that is computed from the input states of the output head."""

    @property
    def name(self) -> str:
        """Return the name of the term, such as "lmd"."""
        ...

    def size(self, batch: Batch) -> int:
        """Return the number of occurrences in the batch."""
        ...

    def sum(
        self, hidden: "Tensor", weight: "Tensor", bias: "Tensor | None", batch: Batch, logits: Logits
    ) -> "Tensor":
        """Return the term, summed over the occurrences in the batch.

        hidden: (rows, length, size). weight: (vocabulary, size). bias: (vocabulary,). logits: how the model computes
        logits from their product.
        """
        ...


@dataclass(frozen=True)
class WeightedDebiasing:
    """The loss lambda_LM × mean negative log probability per token + lambda_D × mean of a term over its occurrences.

    lm_weight, weight: lambda_LM and lambda_D. quirks: names in `BY_BATCH`.
    """

    term: LossTerm
    lm_weight: float
    weight: float
    quirks: frozenset[str] = frozenset()

    @property
    def pooled(self) -> bool:
        """Return False if the quirk is enabled that computes the loss separately for each batch, as published."""
        return "summed" not in self.quirks

    def weights(self, batch: Batch) -> Mapping[str, float]:
        """Return lambda_LM and lambda_D."""
        if "bare-language-model" in self.quirks and not self.term.size(batch):
            return {"lm": 1.0, self.term.name: 0.0}
        return {"lm": self.lm_weight, self.term.name: self.weight}

    def sizes(self, batch: Batch) -> Mapping[str, float]:
        """Return the numbers of learned tokens and of occurrences."""
        return {
            "lm": batch.n_learned,
            self.term.name: 1 if "summed" in self.quirks else self.term.size(batch),
        }

    def sums(self, model: Any, batch: Batch) -> "Mapping[str, Tensor]":
        """Return both terms, from one pass."""
        import torch

        seen = hidden_and_logits(model, batch)
        found = {"lm": token_losses(seen.logits, batch.labels)}
        if seen.head not in self._logits:  # determined once per model
            self._logits[seen.head] = infer_logits(seen)
        weight, bias = seen.head.weight, getattr(seen.head, "bias", None)
        if "fixed-embeddings" in self.quirks:
            weight, bias = weight.detach(), None if bias is None else bias.detach()
        # these losses are small differences of large numbers, so they need 32 bits
        with torch.autocast(seen.hidden.device.type, enabled=False):
            hidden = seen.hidden.to(weight.dtype)
            found[self.term.name] = self.term.sum(hidden, weight, bias, batch, self._logits[seen.head])
        return found

    @cached_property
    def _logits(self) -> "WeakKeyDictionary[Any, Logits]":
        return WeakKeyDictionary()


@dataclass(frozen=True)
class WeightedMethod:
    """Shared options of methods with the loss `WeightedDebiasing`; subclasses add a name, a card and a lesson.

    weight, lm_weight: lambda_D and lambda_LM. quirks: names in `QUIRKS`, ways in which the published code differs from
    its paper. as_published: enable all quirks. Raises UsageError for unknown quirks and negative weights.
    """

    QUIRKS: ClassVar[Mapping[str, str]]

    weight: float = 1.0
    lm_weight: float = 1.0
    quirks: tuple[str, ...] = ()
    as_published: bool = False

    def __post_init__(self) -> None:
        for name in ("weight", "lm_weight"):
            if not 0 <= getattr(self, name) < math.inf:
                raise UsageError(f"{name} must be 0 or more, got {getattr(self, name)}.")
        for name in self.quirks:
            if name not in self.QUIRKS:
                raise unknown_name("quirk", name, self.QUIRKS)

    @property
    def enabled_quirks(self) -> frozenset[str]:
        """Return the enabled quirks: those that are named, or all."""
        return frozenset(self.QUIRKS if self.as_published else self.quirks)

    def parameters(self) -> dict[str, Any]:
        """Return the lambdas and the enabled quirks."""
        return {**asdict(self), "quirks": sorted(self.enabled_quirks)}

    def objective(self, term: LossTerm) -> WeightedDebiasing:
        """Return the objective: language modelling and a term, with this method's weights and quirks."""
        return WeightedDebiasing(term, self.lm_weight, self.weight, self.enabled_quirks)
