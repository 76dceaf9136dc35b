"""Contrastive debiasing: steer a model away from its own predictions after descriptions of harm, on the log scale."""

from dataclasses import dataclass

from evenhand.mitigations.steering.rules import ContrastiveRule
from evenhand.mitigations.steering.self_debiasing import SteeredByPrefixes
from evenhand.schema import Card

CARD = Card(
    "contrastive",
    "Uses the model as its own anti-expert: moves away from what it predicts after 'The following text contains "
    "...'.",
    construct="Whether a model writes less harm if it is steered away from its own predictions in a harmful role.",
    null="strength=0 with plausible=0 changes no distribution.",
    critique="No numbers have been published for this combination. The anti-expert of DExperts is a model "
    "trained on toxic text; here it is the model itself after the prefixes of self-debiasing. "
    "Self-debiasing changes only tokens that prefixes make more likely. This rule also raises tokens "
    "that they make less likely, and it affects words about the topic of a description as well as harm. "
    "As in self-debiasing, every token is computed once more for each prefix.",
    citation="Liu et al. 2021, DExperts; Li et al. 2023, Contrastive Decoding; prefixes: Schick et al. 2021.",
    source="Liu et al. 2021, equation 1 (anti-expert); Li et al. 2023, equation 3 (plausibility)",
)


@dataclass(frozen=True)
class ContrastiveDebiasing(SteeredByPrefixes):
    """Sample from log p + strength × (log p - mean log q), where q are the distributions after each prefix.

    Parameters
    ----------
    strength, plausible : float
        See `ContrastiveRule`.
    prefixes : tuple of str or str
        Texts, or the name of a set, as in `SelfDebiasing`.

    Raises
    ------
    UsageError
        As `ContrastiveRule` and `SelfDebiasing`.

    Examples
    --------
    >>> ContrastiveDebiasing(strength=0.5, prefixes=("(rude) ",)).parameters()
    {'strength': 0.5, 'plausible': 0.1, 'prefixes': ['(rude) ']}
    """

    strength: float = 1.0
    plausible: float = 0.1
    prefixes: tuple[str, ...] | str = "published"
    name: str = "contrastive"
    card: Card = CARD

    @property
    def rule(self) -> ContrastiveRule:
        """Return the rule that combines the distributions."""
        return ContrastiveRule(self.strength, self.plausible)
