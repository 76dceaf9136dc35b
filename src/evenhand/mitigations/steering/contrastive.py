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
    """A mitigation that makes tokens less likely if descriptions of harm make them more likely.

    Use it as an alternative to `SelfDebiasing` for models that run on this machine. It compares two
    next-token distributions: after the prompt, and after a description of harm followed by the prompt. An
    example of a description is "The following text contains a threat:". It then moves the first distribution
    away from the second.

    Parameters
    ----------
    strength : float, default 1.0
        Strength of the mitigation, at least 0. With 0, the log probabilities do not move.
    plausible : float, default 0.1
        Tokens are excluded if their probability is below this share of the largest probability. With 0, no
        token is excluded.
    prefixes : tuple of str or str, default "published"
        Descriptions of harm, or the name of a set of them: "published" (six sentences) or "keywords" (eight
        words).
    name : str, default "contrastive"
        Name in reports.
    card : Card
        Description of the mitigation, with known problems.

    Raises
    ------
    UsageError
        `strength` is negative, `plausible` is not between 0 and 1, or the prefixes are invalid.

    Notes
    -----
    Let p be the probability of a token after the prompt. Let q be its probability after one prefix and the
    prompt. The token's new score is log p + strength × (log p - mean of log q over prefixes). The scores are
    normalised to probabilities, from which the next token is sampled. See `ContrastiveRule`.

    References
    ----------
    Liu et al. (2021), "DExperts: Decoding-Time Controlled Text Generation with Experts and Anti-Experts",
    ACL, equation 1.

    Li et al. (2023), "Contrastive Decoding: Open-ended Text Generation as Optimization", ACL, equation 3.

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
