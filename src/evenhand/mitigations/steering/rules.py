"""Rules that combine next-token distributions: that of self-debiasing, and a contrastive one."""

import math
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any

from evenhand.schema import UsageError

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class SelfDebiasingRule:
    """The formula of self-debiasing: reduce the probability of tokens that a harmful context makes more likely.

    `SelfDebiasing` applies it to each next-token distribution.

    Parameters
    ----------
    decay : float, default 50.0
        Strength of the penalty, at least 0; lambda in the paper. The published values are 10, 50 and 100.
    floor : float, default 0.01
        Smallest factor, above 0 and up to 1; epsilon in the paper.

    Raises
    ------
    UsageError
        `decay` is negative, or `floor` is out of range.

    Notes
    -----
    Let p be the regular probability of a token. Let q be its largest probability over the harmful contexts,
    and d = max(0, q - p). Then p is multiplied by max(floor, exp(-decay × d)), and the distribution is
    normalised. Tokens that no context makes more likely keep their odds relative to each other.

    References
    ----------
    Schick, Udupa and Schütze (2021), "Self-Diagnosis and Self-Debiasing: A Proposal for Reducing Corpus-Based
    Bias in NLP", TACL 9, equations 2 to 4.

    Examples
    --------
    >>> import torch
    >>> p, q = torch.tensor([[0.5, 0.5]]).log(), torch.tensor([[[0.9, 0.1]]]).log()
    >>> SelfDebiasingRule(decay=10).combine(p, q).exp().round(decimals=3).tolist()
    [[0.0179..., 0.98...]]
    """

    decay: float = 50.0
    floor: float = 0.01

    def __post_init__(self) -> None:
        if not 0 <= self.decay < inf:
            raise UsageError(f"decay must be 0 or more (usually 50), got {self.decay}.")
        if not 0 < self.floor <= 1:
            raise UsageError(f"floor must be above 0 and at most 1 (usually 0.01), got {self.floor}.")

    def combine(self, regular: "torch.Tensor", steered: "torch.Tensor") -> "torch.Tensor":
        """Return the combined distributions (see CombinationRule.combine)."""
        harmful = steered.amax(0).exp()
        likelier = (harmful - regular.exp()).clamp(min=0)
        # computed on the log scale, so that nothing underflows for any decay (section 4.1 of the card)
        scores = regular + (-self.decay * likelier).clamp(min=math.log(self.floor))
        return scores.log_softmax(-1)

    def parameters(self) -> dict[str, Any]:
        """Return the name of the rule and its constants."""
        return {"name": "self-debiasing", "decay": self.decay, "floor": self.floor}


@dataclass(frozen=True)
class ContrastiveRule:
    """The formula of contrastive debiasing: move log probabilities away from those after harmful contexts.

    `ContrastiveDebiasing` applies it to each next-token distribution.

    Parameters
    ----------
    strength : float, default 1.0
        Strength, at least 0. With 0, the log probabilities do not move.
    plausible : float, default 0.1
        Tokens are excluded if their probability is below this share of the largest probability, 0 to 1.
        Otherwise a very unlikely token could win because a harmful context makes it even less likely.

    Raises
    ------
    UsageError
        `strength` is negative, or `plausible` is not between 0 and 1.

    Notes
    -----
    The new score of a token is log p + strength × (log p - mean log q). p is its regular probability, and q
    its probability after each harmful context. The formula is the anti-expert half of DExperts with the
    plausibility constraint of Contrastive Decoding.

    References
    ----------
    Liu et al. (2021), "DExperts: Decoding-Time Controlled Text Generation with Experts and Anti-Experts",
    ACL, equation 1.

    Li et al. (2023), "Contrastive Decoding: Open-ended Text Generation as Optimization", ACL, equation 3.

    Examples
    --------
    >>> import torch
    >>> p, q = torch.tensor([[0.5, 0.5]]).log(), torch.tensor([[[0.9, 0.1]]]).log()
    >>> ContrastiveRule(strength=1.0).combine(p, q).exp().round(decimals=3).tolist()
    [[0.1..., 0.89...]]
    """

    strength: float = 1.0
    plausible: float = 0.1

    def __post_init__(self) -> None:
        if not 0 <= self.strength < inf:
            raise UsageError(f"strength must be 0 or more, got {self.strength}.")
        if not 0 <= self.plausible <= 1:
            raise UsageError(f"plausible must be a share from 0 to 1, got {self.plausible}.")

    def combine(self, regular: "torch.Tensor", steered: "torch.Tensor") -> "torch.Tensor":
        """Return the combined distributions (see CombinationRule.combine)."""
        import torch

        scores = regular + self.strength * (regular - steered.mean(0))
        if self.plausible > 0:
            least = regular.amax(-1, keepdim=True) + math.log(self.plausible)
            scores = scores.masked_fill(regular < least, -torch.inf)
        # keep impossible tokens impossible; -inf minus -inf would be NaN
        return scores.masked_fill(regular == -torch.inf, -torch.inf).log_softmax(-1)

    def parameters(self) -> dict[str, Any]:
        """Return the name of the rule and its constants."""
        return {"name": "contrastive", "strength": self.strength, "plausible": self.plausible}
