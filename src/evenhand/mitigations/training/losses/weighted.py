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
from evenhand.mitigations.training.objective import Logits, hidden_and_logits, logits_of, token_losses
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
"""Quirks that the three published losses share. Source: RedditBias, section 5.1, and its published code."""


class LossTerm(Protocol):
    """A debiasing term that is computed from the states the output head is given."""

    @property
    def name(self) -> str:
        """Of the term: "lmd"."""
        ...

    def size(self, batch: Batch) -> int:
        """Occurrences in the batch."""
        ...

    def sum(
        self, hidden: "Tensor", weight: "Tensor", bias: "Tensor | None", batch: Batch, logits: Logits
    ) -> "Tensor":
        """The term summed over them.

        hidden (rows, length, size), weight (vocabulary, size), bias (vocabulary,); logits: what the model makes of
        their product.
        """
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

        seen = hidden_and_logits(model, batch)
        found = {"lm": token_losses(seen.logits, batch.labels)}
        if seen.head not in self._logits:  # of a model it is found once
            self._logits[seen.head] = logits_of(seen)
        weight, bias = seen.head.weight, getattr(seen.head, "bias", None)
        if "fixed-embeddings" in self.quirks:
            weight, bias = weight.detach(), None if bias is None else bias.detach()
        with torch.autocast(
            seen.hidden.device.type, enabled=False
        ):  # small, and differences of large numbers
            hidden = seen.hidden.to(weight.dtype)
            found[self.term.name] = self.term.sum(hidden, weight, bias, batch, self._logits[seen.head])
        return found

    @cached_property
    def _logits(self) -> "WeakKeyDictionary[Any, Logits]":
        return WeakKeyDictionary()


@dataclass(frozen=True)
class WeightedMethod:
    """What methods have in common whose loss is that of `WeightedDebiasing`; they add a name, a card and a lesson.

    weight, lm_weight: lambda_D and lambda_LM. quirks: of `QUIRKS`, each a way in which the published code departs
    from its paper; as_published: all of them. Raises UsageError for unknown quirks and for weights
    below 0.
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
    def switched_on(self) -> frozenset[str]:
        """The quirks in force: those named, or all."""
        return frozenset(self.QUIRKS if self.as_published else self.quirks)

    def parameters(self) -> dict[str, Any]:
        """The lambdas and the quirks that are switched on."""
        return {**asdict(self), "quirks": sorted(self.switched_on)}

    def objective(self, term: LossTerm) -> WeightedDebiasing:
        """Language modelling and a term, weighted and switched as this method says."""
        return WeightedDebiasing(term, self.lm_weight, self.weight, self.switched_on)
