"""ADD (attribute distance debiasing): states of stereotype words should be equally close to both groups' words.

For every occurrence of an attribute with state a, and output vectors t1, t2 of all pairs,

    L_ADD = sum over (t1, t2) in P of  | cos(t1, a) - cos(t2, a) |

Source: RedditBias, section 4.2, equation 3; terms of several tokens: footnote 12.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from evenhand.mitigations.training.examples import Batch
from evenhand.mitigations.training.losses.attributes import (
    QUIRKS as ATTRIBUTE_QUIRKS,
    attribute_examples,
    attribute_states,
    attribute_tokens,
)
from evenhand.mitigations.training.losses.weighted import BY_BATCH, WeightedMethod
from evenhand.mitigations.training.material import Encoding, Material
from evenhand.mitigations.training.methods import Lesson
from evenhand.mitigations.training.objective import Logits
from evenhand.mitigations.training.terms import TermPairs
from evenhand.schema import Card

if TYPE_CHECKING:
    from torch import Tensor

QUIRKS = {**ATTRIBUTE_QUIRKS, **BY_BATCH}
"""Differences of the published code from the paper, by name. Source: methods, sections 3.2 and 3.3."""
CARD = Card(
    "add",
    "Attribute distance debiasing: moves the hidden state of a stereotypical word to equal distances from both "
    "groups' words.",
    construct="How much closer the hidden state of a stereotypical word is to one group's output vectors than to "
    "the other's.",
    harm="The model associates stereotypes with one group.",
    groups="Two groups, by pairs of terms (t1, t2), wherever an attribute (a stereotypical word) of the "
    "minoritised group occurs.",
    ideal="0: equally close to both.",
    direction="Larger means more unequal.",
    critique="It affects only what directly follows an attribute. A model may express the same stereotype with "
    "words that are not listed. Distances of vectors are not behaviour: measure behaviour as well. As published, "
    "more than half of the summands of the loss come from exclamation marks.",
    citation="Barikeri et al. 2021, RedditBias (ACL 2021); Lauscher et al. 2020, A General Framework for Implicit and "
    "Explicit Debiasing of Distributional Word Vector Spaces.",
    source="RedditBias, section 4.2, equation 3",
    details="By default, the method follows the paper. `quirks=NAME` enables a quirk of the published code, and "
    "`as_published=true` all of them:\n\n"
    + "\n".join(f"- `{name}`: {what}" for name, what in QUIRKS.items()),
)


@dataclass(frozen=True)
class EqualDistance:
    """The loss term of ADD over marked attributes."""

    pairs: TermPairs
    name: str = "add"

    def size(self, batch: Batch) -> int:
        """Return the number of occurrences that have a state."""
        return int((attribute_tokens(batch) > 0).sum())

    def sum(
        self, hidden: "Tensor", weight: "Tensor", bias: "Tensor | None", batch: Batch, logits: Logits
    ) -> "Tensor":
        """Return the sum over attributes and pairs of |cos(t1, a) - cos(t2, a)|, from one matrix product."""
        from torch.nn.functional import normalize

        first, second = self.pairs.vectors(weight)
        # the cosine of a zero vector (a failed match) is 0
        states = normalize(attribute_states(hidden, batch), dim=1)
        return (states @ (normalize(first, dim=1) - normalize(second, dim=1)).T).abs().sum()


class AttributeDistanceDebiasing(WeightedMethod):
    """The method ADD: see `WeightedMethod` for its options."""

    name: ClassVar[str] = "add"
    card: ClassVar[Card] = CARD
    QUIRKS: ClassVar[Mapping[str, str]] = QUIRKS

    def lesson(self, material: Material, tokenizer: Any, encoding: Encoding, seed: int) -> Lesson:
        """Return the unchanged texts, with the positions of attributes marked."""
        examples, pairs, facts = attribute_examples(material, tokenizer, encoding, self.enabled_quirks)
        return Lesson(examples, self.objective(EqualDistance(pairs)), facts)
