"""INLP (iterated nullspace projection): remove the directions by which a linear classifier can distinguish groups.

X are the states of sentences, and y the groups that they are about. Each iteration fits a classifier W of y from X,
computes an orthonormal basis B of the rows of W, and replaces X by X (I - B'B). It stops when the classifier is no
better than chance on held-out sentences. All bases together are the directions that are removed from the input of the
output matrix.

Source: Ravfogel et al. 2020, algorithm 1; for causal models, before the output matrix, Meade et al. 2022.
"""

from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from evenhand.mitigations.projection.classifier import PENALTY, Floats, Ints, fit_classifier
from evenhand.mitigations.projection.folding import fold, linear_head
from evenhand.mitigations.projection.sentences import grouped_sentences
from evenhand.mitigations.projection.states import mean_states
from evenhand.mitigations.training import By, Edit, Encoding, Material
from evenhand.schema import Card, UsageError

HELD_OUT = 0.25
"""Share of the frames that is held out."""
ACCURACY, REMOVED = "accuracy", "removed"
CARD = Card(
    "inlp",
    "Iterated nullspace projection: removes from the output matrix the directions by which a linear classifier "
    "distinguishes groups.",
    construct="How well a linear classifier infers, from the hidden state before the output matrix, which group a "
    "sentence is about.",
    harm="Continuations depend on the group that a text is about.",
    groups="With our own sentences: all groups of an axis at once. With texts that contain terms: T1 and T2.",
    ideal="Expected: on held-out sentences, a newly fitted classifier is right as often as a guess.",
    null="1 divided by the number of groups: each group has the same weight.",
    critique="Linear classifiers of the last hidden state can no longer read the information. It remains in all "
    "earlier states, which the model attends to, and non-linear classifiers can read it (Gonen and Goldberg 2019). "
    "The directions come from states after a group's name, so the probability of the name itself changes too. Each "
    "direction is also lost for everything else: Meade et al. 2022 found that perplexity rose and stereotype "
    "scores did not fall reliably.",
    citation="Ravfogel et al. 2020, Null It Out (ACL 2020); Meade et al. 2022, An Empirical Survey of the "
    "Effectiveness of Debiasing Techniques for Pre-trained Language Models (ACL 2022); Gonen and Goldberg 2019, "
    "Lipstick on a Pig (NAACL 2019).",
    source="Ravfogel et al. 2020, algorithm 1",
    details="Nothing is trained. The projection is merged exactly into the output matrix, which is separated from "
    "the input embeddings. The classifier is a logistic regression with an intercept and equal weight for each "
    "group. Meade et al. fit 80 linear support vector machines without an intercept. These distinguish sentences "
    "about any religion or race from others, not one group from another. To remove as many directions, use "
    "`iterations=80&until=none`.",
)


@dataclass(frozen=True)
class Removal:
    """Result of the iterations of INLP.

    Attributes
    ----------
    directions : numpy.ndarray, shape (k, size)
        Orthonormal directions that were removed.
    accuracies : sequence of float
        Balanced accuracy of the classifier on held-out sentences, before and after each iteration.
    removed : sequence of int
        Number of directions removed so far.
    """

    directions: Floats
    accuracies: tuple[float, ...]
    removed: tuple[int, ...]


def nullspace_directions(
    states: Floats,
    groups: Ints,
    held_out: NDArray[np.bool_],
    *,
    iterations: int = 80,
    at_chance: bool = True,
    penalty: float = PENALTY,
) -> Removal:
    """Return the directions of states that distinguish groups, the most informative first.

    Parameters
    ----------
    states
        States of sentences, shape (n, size).
    groups
        Group codes from 0, shape (n,).
    held_out
        True for sentences that classifiers are tested on and not fitted to, shape (n,).
    at_chance
        Stop if a classifier is not better than chance by two standard errors.

    References
    ----------
    - Ravfogel et al. 2020, algorithm 1.

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> groups = random.integers(0, 2, 400)
    >>> states = random.normal(size=(400, 6))
    >>> states[:, 0] += 8.0 * groups
    >>> found = nullspace_directions(states, groups, np.arange(400) < 100, iterations=1)
    >>> len(found.directions), bool(abs(found.directions[0, 0]) > 0.99), found.accuracies[0]
    (1, True, 1.0)
    """
    classes, left = int(groups.max()) + 1, states.copy()
    directions = np.zeros((0, states.shape[1]))
    accuracies, removed = list[float](), list[int]()
    while True:
        classifier = fit_classifier(left[~held_out], groups[~held_out], classes, penalty)
        recalls = classifier.recalls(left[held_out], groups[held_out])
        accuracies.append(float(recalls.mean()))
        removed.append(len(directions))
        full = len(directions) + classes > states.shape[1]
        if (
            len(accuracies) > iterations
            or full
            or (at_chance and is_chance(accuracies[-1], groups[held_out]))
        ):
            return Removal(directions, tuple(accuracies), tuple(removed))
        found = _rows(classifier.weights, directions)
        if not len(found):
            return Removal(directions, tuple(accuracies), tuple(removed))
        directions = np.concatenate([directions, found])
        left = states - (states @ directions.T) @ directions


def is_chance(accuracy: float, groups: Ints) -> bool:
    """Return whether a mean recall over groups is within two standard errors of chance.

    >>> is_chance(0.55, np.arange(100) % 2), is_chance(0.65, np.arange(100) % 2)
    (True, False)
    """
    counts = np.bincount(groups)
    guess = 1 / len(counts)
    error = np.sqrt((guess * (1 - guess) / counts.clip(min=1)).sum()) / len(counts)
    return bool(accuracy <= guess + 2 * error)


def _rows(weights: Floats, before: Floats) -> Floats:
    """Return an orthonormal basis of the rows of `weights`, orthogonal to the earlier directions."""
    centred = weights - weights.mean(0)  # a component that all classes share does not distinguish them
    centred = centred - (centred @ before.T) @ before
    _, values, rows = np.linalg.svd(centred, full_matrices=False)
    rows = rows[values > 1e-6 * max(values[0], 1e-12)]
    return np.asarray(np.linalg.qr((rows - (rows @ before.T) @ before).T)[0].T)


@dataclass(frozen=True)
class NullspaceProjection:
    """The debiasing method INLP: repeatedly train a classifier of the group, and remove its direction from the states.

    Parameters
    ----------
    iterations : int
        Maximum number of classifiers.
    until : {"chance", "none"}
        "chance": stop when a classifier is not better than chance.
    penalty : float
        Penalty on the squared weights of a classifier.
    by : str
        How texts are rewritten about the other group; see `CounterfactualAugmentation`.

    Raises
    ------
    UsageError
        A value is out of range.
    """

    name: ClassVar[str] = "inlp"
    card: ClassVar[Card] = CARD

    iterations: int = 80
    until: Literal["chance", "none"] = "chance"
    penalty: float = PENALTY
    by: By = "words"

    def __post_init__(self) -> None:
        if self.iterations < 1:
            raise UsageError(f"iterations must be at least 1, got {self.iterations}.", "Published: 80.")
        if not self.penalty > 0:
            raise UsageError(f"penalty must be a number above 0, got {self.penalty}.", f"Default: {PENALTY}.")

    def parameters(self) -> dict[str, Any]:
        """Return all options."""
        return asdict(self)

    def edit(self, material: Material, model: Any, tokenizer: Any, encoding: Encoding, seed: int) -> Edit:
        """Find the directions, and fold their removal into the output matrix."""
        linear_head(model)  # raise errors about the model before the material is read
        sentences = grouped_sentences(material, self.by, seed)
        held_out = sentences.held_out(HELD_OUT, seed)
        states = mean_states(model, tokenizer, sentences.texts, encoding)
        found = nullspace_directions(
            states,
            sentences.groups,
            held_out,
            iterations=self.iterations,
            at_chance=self.until == "chance",
            penalty=self.penalty,
        )
        difference = fold(model, found.directions)
        guess = 1 / len(sentences.names)
        told = (
            f"Removed {len(found.directions)} of the {states.shape[1]} directions that the output matrix reads. A "
            f"linear classifier of {len(sentences.names)} groups had an accuracy of {found.accuracies[0]:.0%} before "
            f"and {found.accuracies[-1]:.0%} after, on held-out sentences (chance: {guess:.0%})."
        )
        facts = {
            "sentences": len(sentences.texts),
            "sentences_kept_apart": int(held_out.sum()),
            "told_apart": list(sentences.names),
            "directions": states.shape[1],
            "directions_removed": len(found.directions),
            "accuracy_before": found.accuracies[0],
            "accuracy_after": found.accuracies[-1],
            "accuracy_of_a_guess": guess,
            "folded_differs_by": difference,
        }
        curves = [(step, ACCURACY, value) for step, value in enumerate(found.accuracies)]
        curves += [(step, REMOVED, float(value)) for step, value in enumerate(found.removed)]
        return Edit(told, facts, tuple(curves))
