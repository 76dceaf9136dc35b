"""Rules that combine next-token distributions: self-debiasing's, and a contrastive one."""

import math
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any

from evenhand.schema import UsageError

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class SelfDebiasingRule:
    """Reduce the probability of tokens that a harmful context makes more likely.

    With p the regular distribution, q the largest over contexts of the steered ones, and
    d = max(0, q - p): p is multiplied by max(floor, exp(-decay d)) and normalised. Tokens that no context makes
    more likely keep their odds. decay: lambda in the paper (50 by default there; 10, 50 and 100 were published).
    floor: epsilon, the least factor. Raises UsageError for a negative decay or a floor outside 0..1.
    Source: Schick, Udupa, Schütze 2021, equations 2-4.

    >>> import torch
    >>> p, q = torch.tensor([[0.5, 0.5]]).log(), torch.tensor([[[0.9, 0.1]]]).log()
    >>> SelfDebiasingRule(decay=10).combine(p, q).exp().round(decimals=3).tolist()
    [[0.0179..., 0.98...]]
    """

    decay: float = 50.0
    floor: float = 0.01

    def __post_init__(self) -> None:
        if not 0 <= self.decay < inf:
            raise UsageError(f"decay={self.decay}: zero or more was expected (50 is usual).")
        if not 0 < self.floor <= 1:
            raise UsageError(
                f"floor={self.floor}: a number above 0 and up to 1 was expected (0.01 is usual)."
            )

    def combine(self, regular: "torch.Tensor", steered: "torch.Tensor") -> "torch.Tensor":
        """See CombinationRule.combine."""
        harmful = steered.amax(0).exp()
        likelier = (harmful - regular.exp()).clamp(min=0)
        # In the log domain nothing underflows, however large the decay (section 4.1 of the card).
        scores = regular + (-self.decay * likelier).clamp(min=math.log(self.floor))
        return scores.log_softmax(-1)

    def parameters(self) -> dict[str, Any]:
        """Name and constants."""
        return {"name": "self-debiasing", "decay": self.decay, "floor": self.floor}


@dataclass(frozen=True)
class ContrastiveRule:
    """Move away from what the contexts lead to, on the log scale: log p + strength (log p - mean log q).

    strength: 0 leaves the model as it is. plausible: tokens with less than this share of the likeliest token's
    probability are left out, so that a very unlikely token cannot win by being still less likely behind a
    context. Raises UsageError for a negative strength or a share outside 0..1.
    Source: the anti-expert half of DExperts (Liu et al. 2021, equation 1) with the plausibility constraint of
    Contrastive Decoding (Li et al. 2023, equation 3).

    >>> import torch
    >>> p, q = torch.tensor([[0.5, 0.5]]).log(), torch.tensor([[[0.9, 0.1]]]).log()
    >>> ContrastiveRule(strength=1.0).combine(p, q).exp().round(decimals=3).tolist()
    [[0.1..., 0.89...]]
    """

    strength: float = 1.0
    plausible: float = 0.1

    def __post_init__(self) -> None:
        if not 0 <= self.strength < inf:
            raise UsageError(f"strength={self.strength}: zero or more was expected.")
        if not 0 <= self.plausible <= 1:
            raise UsageError(f"plausible={self.plausible}: a share between 0 and 1 was expected.")

    def combine(self, regular: "torch.Tensor", steered: "torch.Tensor") -> "torch.Tensor":
        """See CombinationRule.combine."""
        import torch

        scores = regular + self.strength * (regular - steered.mean(0))
        if self.plausible > 0:
            least = regular.amax(-1, keepdim=True) + math.log(self.plausible)
            scores = scores.masked_fill(regular < least, -torch.inf)
        # A token that is impossible anyway stays so: infinity minus infinity is no number.
        return scores.masked_fill(regular == -torch.inf, -torch.inf).log_softmax(-1)

    def parameters(self) -> dict[str, Any]:
        """Name and constants."""
        return {"name": "contrastive", "strength": self.strength, "plausible": self.plausible}
