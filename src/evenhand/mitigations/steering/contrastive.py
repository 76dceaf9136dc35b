"""Contrastive debiasing: steer a model away from its own predictions after descriptions of harm, on the log scale."""

from dataclasses import dataclass

from evenhand.mitigations.steering.rules import ContrastiveRule
from evenhand.mitigations.steering.self_debiasing import SteeredByPrefixes
from evenhand.schema import Card

CARD = Card(
    "contrastive",
    "Moves the model away from what it predicts after 'The following text contains ...' (its own anti-expert).",
    construct="Whether a model writes less harm if it is steered away from its own predictions in a harmful role.",
    null="With strength=0 and plausible=0, the probabilities of the model do not change.",
    critique="No numbers have been published for this combination. In DExperts, the anti-expert is a model trained "
    "on toxic text; here it is the model itself after the prefixes of self-debiasing. Self-debiasing changes only "
    "tokens that the prefixes make more likely. This mitigation also raises tokens that the prefixes make less "
    "likely. It affects words about the topic of a prefix as well as harm. As in self-debiasing, every token is "
    "computed once more for each prefix.",
    citation="Liu et al. 2021, DExperts; Li et al. 2023, Contrastive Decoding; prefixes: Schick et al. 2021.",
    source="Liu et al. 2021, equation 1 (anti-expert); Li et al. 2023, equation 3 (plausibility)",
)


@dataclass(frozen=True)
class ContrastiveDebiasing(SteeredByPrefixes):
    """A mitigation that moves next-token probabilities away from those after descriptions of harm.

    Samples from log p + strength × (log p - mean log q), normalised. p are the model's probabilities after the
    prompt, and q those after each prefix with the prompt, for example "The following text contains a threat:".

    Parameters
    ----------
    strength : float, default 1.0
        How far to move; 0 leaves log p as it is.
    plausible : float, default 0.1
        Tokens less probable than this share of the most probable token are excluded (0: none). See
        `ContrastiveRule`.
    prefixes : tuple of str or str, default "published"
        Texts, or the name of a set ("published" or "keywords"), as in `SelfDebiasing`.
    name : str, default "contrastive"
        Name for reports.
    card : Card
        Description with known problems.

    Raises
    ------
    UsageError
        `strength` is negative, `plausible` is outside 0 to 1, or the prefixes are invalid.

    Notes
    -----
    Sources: Liu et al. 2021, equation 1; Li et al. 2023, equation 3.

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
        """Return the rule that combines the probabilities p and q."""
        return ContrastiveRule(self.strength, self.plausible)
