"""SentenceDebias: remove the principal components of how states change with the group that a sentence is about.

Sentences that differ only in the group form a tuple. The mean state of each tuple is subtracted from its states. The
first right singular vectors of all differences span the bias subspace, which is removed from the input of the output
matrix.

Source: Liang et al. 2020, section 2; for causal models, before the output matrix, Meade et al. 2022.
"""

from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from evenhand.mitigations.projection.classifier import Floats, Ints
from evenhand.mitigations.projection.folding import fold, linear_head
from evenhand.mitigations.projection.sentences import grouped_sentences
from evenhand.mitigations.projection.states import mean_states
from evenhand.mitigations.training import By, Edit, Encoding, Material
from evenhand.schema import Card, DataError, UsageError

EXPLAINED = "explained"
MOST_SHOWN = 20
"""Number of components whose share is reported."""
CARD = Card(
    "sentence-debias",
    "SentenceDebias: removes from the output matrix the main direction in which sentences about groups differ.",
    construct="How the hidden state before the output matrix differs between sentences that differ only in the "
    "group.",
    harm="Continuations depend on the group that a text is about.",
    groups="With our own sentences: tuples with all groups of an axis. With texts that contain terms: pairs of T1 "
    "and T2.",
    ideal="Expected: sentences about different groups do not differ along the removed directions.",
    null="The share of the variance that a component explains if states differ by chance: 1 divided by their "
    "dimension.",
    critique="Groups rarely differ in only one direction, and other directions still carry the hidden information "
    "(Gonen and Goldberg 2019). The directions come from states after a group's name, so the probability of the "
    "name itself changes too. Meade et al. 2022 found small effects on stereotype scores and a small increase in "
    "perplexity.",
    citation="Liang et al. 2020, Towards Debiasing Sentence Representations (ACL 2020); Meade et al. 2022, An "
    "Empirical Survey of the Effectiveness of Debiasing Techniques for Pre-trained Language Models (ACL 2022); Gonen "
    "and Goldberg 2019, Lipstick on a Pig (NAACL 2019).",
    source="Liang et al. 2020, section 2",
    details="Nothing is trained. The projection is merged exactly into the output matrix, which is separated "
    "from the input embeddings. States are first scaled to length 1, and one component is removed, both "
    "as in Meade et al.; `components=5` removes more.",
)


def find_directions(states: Floats, tuples: Ints, components: int) -> tuple[Floats, Floats]:
    """Return the principal directions in which matched sentences differ, and the share of variance that each explains.

    Parameters
    ----------
    states : numpy.ndarray, shape (n, size)
        States of sentences; each is scaled to length 1.
    tuples : numpy.ndarray of int, shape (m, groups)
        Rows of `states` that are the same sentence about each group.
    components : int
        Number of directions.

    Returns
    -------
    directions : numpy.ndarray, shape (components, size)
        Orthonormal directions.
    shares : numpy.ndarray, shape (min(m * groups, size),)
        Shares of variance of all components, largest first.

    References
    ----------
    - Liang et al. 2020, section 2.3, steps 3 and 4.

    >>> states = np.array([[1.0, 1.0], [1.0, -1.0]])
    >>> find_directions(states, np.array([[0, 1]]), 1)[0].round(6).tolist()
    [[0.0, 1.0]]
    """
    scaled = states / np.linalg.norm(states, axis=1, keepdims=True).clip(min=1e-12)
    held = scaled[tuples]  # (m, groups, size)
    left = (held - held.mean(1, keepdims=True)).reshape(-1, states.shape[1])
    _, values, rows = np.linalg.svd(left, full_matrices=False)
    if not values[0] > 1e-9:
        raise DataError(
            "Sentences about different groups have the same hidden states, so there is no direction to remove.",
            "Give texts that name the groups within their first tokens, or read more tokens of each text: --longest "
            "NUMBER.",
        )
    found = rows[:components]
    largest = found[np.arange(len(found)), np.abs(found).argmax(1)]
    return found * np.sign(largest)[:, None], values**2 / (values**2).sum()


@dataclass(frozen=True)
class SentenceDebias:
    """The debiasing method SentenceDebias: remove the directions in which sentences about different groups differ most.

    `components` is the number of directions. `by` states how texts are rewritten about the other group; see
    `CounterfactualAugmentation`. Raises a UsageError for values out of range.
    """

    name: ClassVar[str] = "sentence-debias"
    card: ClassVar[Card] = CARD

    components: int = 1
    by: By = "words"

    def __post_init__(self) -> None:
        if self.components < 1:
            raise UsageError(f"components must be at least 1, got {self.components}.", "Published: 1.")

    def parameters(self) -> dict[str, Any]:
        """Return all options."""
        return asdict(self)

    def edit(self, material: Material, model: Any, tokenizer: Any, encoding: Encoding, seed: int) -> Edit:
        """Find the components, and fold their removal into the output matrix."""
        size = linear_head(model).weight.shape[1]
        if self.components >= size:
            raise UsageError(
                f"components is {self.components}, but the hidden states have only {size} dimensions.",
                "Use a smaller number.",
            )
        sentences = grouped_sentences(material, self.by, seed)
        states = mean_states(model, tokenizer, sentences.texts, encoding)
        tuples = sentences.tuples(seed)
        directions, shares = find_directions(states, tuples, self.components)
        difference = fold(model, directions)
        explained = float(shares[: self.components].sum())
        told = (
            f"Removed {len(directions)} of the {size} directions that the output matrix reads. Together they explain "
            f"{explained:.0%} of the variance between the states of sentences about {len(sentences.names)} groups."
        )
        facts = {
            "sentences": len(sentences.texts),
            "tuples": len(tuples),
            "told_apart": list(sentences.names),
            "directions": size,
            "directions_removed": len(directions),
            "variance_explained": explained,
            "folded_differs_by": difference,
        }
        shown = enumerate(shares[: max(MOST_SHOWN, self.components)].cumsum().tolist(), 1)
        return Edit(told, facts, tuple((number, EXPLAINED, share) for number, share in shown))


def _was(number: int) -> str:
    return "was" if number == 1 else "were"
