"""ADD, attribute distance debiasing: the state of a stereotype as close to one group's words as to the other's.

For every occurrence of an attribute with state a, and output vectors t1, t2 of all pairs,

    L_ADD = sum over (t1, t2) in P of  | cos(t1, a) - cos(t2, a) |

Source: RedditBias, section 4.2, equation 3; terms of several tokens: footnote 12.
"""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from evenhand.mitigations.training.examples import Batch
from evenhand.mitigations.training.losses.attributes import (
    MARK,
    QUIRKS as ATTRIBUTE_QUIRKS,
    attribute_examples,
    attribute_states,
)
from evenhand.mitigations.training.losses.weighted import BY_BATCH, WeightedDebiasing, chosen_quirks
from evenhand.mitigations.training.material import Encoding, Material
from evenhand.mitigations.training.methods import Lesson
from evenhand.mitigations.training.terms import TermPairs
from evenhand.schema import Card

if TYPE_CHECKING:
    from torch import Tensor

QUIRKS = {**ATTRIBUTE_QUIRKS, **BY_BATCH}
"""What the published code does otherwise than the paper. Source: methods, sections 3.2 and 3.3."""
CARD = Card(
    "add",
    "Attribute distance debiasing: the state of a stereotype as close to one group's words as to the other's.",
    construct="How much closer a stereotypical word's state lies to one group's output vectors than to the other's.",
    harm="Stereotypes that the model ties to one group.",
    groups="Pairs of terms, (t1, t2), at attributes of the minoritised group.",
    ideal="0: equally close.",
    direction="Larger is more unequal.",
    critique="It works on what stands right behind an attribute. A model may say the same of groups by other words "
    "than those listed, and distances of vectors are not behaviour: measure that. As published more than half of "
    "its terms come from exclamation marks.",
    citation="Barikeri et al. 2021, RedditBias (ACL 2021); Lauscher et al. 2020, A General Framework for Implicit and "
    "Explicit Debiasing of Distributional Word Vector Spaces.",
    source="RedditBias, section 4.2, equation 3",
    details="Quirks of the published code:\n\n"
    + "\n".join(f"- `{name}`: {what}" for name, what in QUIRKS.items()),
)


@dataclass(frozen=True)
class EqualDistance:
    """The term of ADD over marked attributes."""

    pairs: TermPairs
    name: str = "add"

    def size(self, batch: Batch) -> int:
        """Occurrences that have a state."""
        return int((batch.marks[MARK][:, 2] > 0).sum())

    def sum(self, hidden: "Tensor", weight: "Tensor", bias: "Tensor | None", batch: Batch) -> "Tensor":
        """|cos(t1, a) - cos(t2, a)| over attributes and pairs: one matrix product."""
        from torch.nn.functional import normalize

        first, second = self.pairs.vectors(weight)
        # of a vector of zeros, as of a match that failed, the cosine is 0
        states = normalize(attribute_states(hidden, batch), dim=1)
        return (states @ (normalize(first, dim=1) - normalize(second, dim=1)).T).abs().sum()


@dataclass(frozen=True)
class AttributeDistanceDebiasing:
    """The method ADD.

    weight, lm_weight: lambda_D and lambda_LM. quirks: of `QUIRKS`, each a way in which the published code departs
    from its paper; as_published: all of them.
    """

    name: ClassVar[str] = "add"
    card: ClassVar[Card] = CARD

    weight: float = 1.0
    lm_weight: float = 1.0
    quirks: tuple[str, ...] = ()
    as_published: bool = False

    def __post_init__(self) -> None:
        chosen_quirks(self.quirks, self.as_published, QUIRKS)

    def parameters(self) -> dict[str, Any]:
        """The lambdas and the quirks that are switched on."""
        return {**asdict(self), "quirks": sorted(chosen_quirks(self.quirks, self.as_published, QUIRKS))}

    def lesson(self, material: Material, tokenizer: Any, encoding: Encoding, seed: int) -> Lesson:
        """The texts as they are, with the places of attributes marked."""
        quirks = chosen_quirks(self.quirks, self.as_published, QUIRKS)
        examples, pairs, facts = attribute_examples(material, tokenizer, encoding, quirks)
        return Lesson(
            examples, WeightedDebiasing(EqualDistance(pairs), self.lm_weight, self.weight, quirks), facts
        )
