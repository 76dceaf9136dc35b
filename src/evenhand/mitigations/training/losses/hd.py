"""HD (hard debiasing): states of stereotype words should have no component along the directions that separate groups.

The rows (t1 - t2) / 2 of all pairs form C. b_1 .. b_k are its first right singular vectors, where k is the smallest
number that explains half of its squared norm. For every occurrence of an attribute with state a,

    L_HD = sum over j of  | b_j <a, b_j> |      (the norm is the sum of absolute components)

Source: RedditBias, section 4.3, equation 4, after Bordia and Bowman 2019 and Bolukbasi et al. 2016.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
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

QUIRKS = {
    **ATTRIBUTE_QUIRKS,
    "running-sum": "Projections are summed over the attributes of a batch, and each attribute is penalised for the "
    "sum so far instead of its own projection. Failed matches are penalised, too.",
    "more-than-half": "The directions explain more than half of the squared norm of the differences t1 - t2, not "
    "at least half.",
    **BY_BATCH,
}
"""Differences of the published code from the paper, by name. Source: methods, sections 3.2 and 3.3."""
CARD = Card(
    "hd",
    "Hard debiasing: removes from the hidden state of a stereotypical word its component along the directions that "
    "distinguish groups.",
    construct="Length of the component of a stereotypical word's hidden state along the directions from one "
    "group's words to the other's.",
    harm="The model associates stereotypes with one group.",
    groups="Two groups, by pairs of terms (t1, t2), wherever an attribute (a stereotypical word) of the "
    "minoritised group occurs.",
    ideal="0: no such component.",
    direction="Larger means a stronger association.",
    critique="Other directions often still carry the hidden information (Gonen and Goldberg 2019). As published, "
    "each occurrence is penalised again for all earlier ones.",
    citation="Barikeri et al. 2021, RedditBias (ACL 2021); Bordia and Bowman 2019, Identifying and Reducing Gender "
    "Bias in Word-Level Language Models; Bolukbasi et al. 2016, Man is to Computer Programmer as Woman is to "
    "Homemaker?",
    source="RedditBias, section 4.3, equation 4",
    details="By default, the method follows the paper. `quirks=NAME` enables a quirk of the published code, and "
    "`as_published=true` all of them:\n\n"
    + "\n".join(f"- `{name}`: {what}" for name, what in QUIRKS.items()),
)


@dataclass(frozen=True)
class NoProjection:
    """The loss term of HD over marked attributes.

    The directions are recomputed after each step of the optimiser. They are constants within a step: no gradient flows
    through the decomposition.
    """

    pairs: TermPairs
    quirks: frozenset[str] = frozenset()
    name: str = "hd"

    def size(self, batch: Batch) -> int:
        """Return the number of occurrences that have a state."""
        return int((attribute_tokens(batch) > 0).sum())

    def sum(
        self, hidden: "Tensor", weight: "Tensor", bias: "Tensor | None", batch: Batch, logits: Logits
    ) -> "Tensor":
        """Return the sum of the norms of the projections of all attributes."""
        basis = self.directions(weight)  # (k, size)
        along = attribute_states(hidden, batch) @ basis.T  # (marks, k)
        if "running-sum" in self.quirks:
            return (along.cumsum(0) @ basis).abs().sum()
        return (along.abs() * basis.abs().sum(1)).sum()

    def directions(self, weight: "Tensor") -> "Tensor":
        """Return b_1 .. b_k as rows, (k, size)."""
        import torch

        key = (weight.data_ptr(), weight._version)  # every step of the optimiser changes this key
        if key not in self._cached_tensors:
            halves = self.pairs.differences(weight.detach()) / 2
            _, values, rows = torch.linalg.svd(halves, full_matrices=False)
            explained = values.square().cumsum(0) / values.square().sum()
            enough = explained > 0.5 if "more-than-half" in self.quirks else explained >= 0.5
            self._cached_tensors.clear()
            self._cached_tensors[key] = rows[: int(enough.int().argmax()) + 1]
        return self._cached_tensors[key]

    @cached_property
    def _cached_tensors(self) -> "dict[tuple[Any, ...], Tensor]":
        return {}


class HardDebiasing(WeightedMethod):
    """The method HD: see `WeightedMethod` for its options."""

    name: ClassVar[str] = "hd"
    card: ClassVar[Card] = CARD
    QUIRKS: ClassVar[Mapping[str, str]] = QUIRKS

    def lesson(self, material: Material, tokenizer: Any, encoding: Encoding, seed: int) -> Lesson:
        """Return the unchanged texts, with the positions of attributes marked."""
        examples, pairs, facts = attribute_examples(material, tokenizer, encoding, self.enabled_quirks)
        return Lesson(
            examples,
            self.objective(NoProjection(pairs, self.enabled_quirks)),
            facts,
        )
