"""INLP finds directions that were planted, and leaves nothing that a classifier of another make could read."""

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from evenhand.mitigations.projection import nullspace_directions
from evenhand.mitigations.projection.classifier import fit_classifier
from evenhand.mitigations.training import load_method
from evenhand.schema import UsageError

Floats = NDArray[np.float64]
SIZE = 24


def planted(groups: int, n: int = 3000, seed: int = 0) -> tuple[Floats, NDArray[np.int64], Floats]:
    """States whose mean alone differs by group, by vectors that span groups - 1 directions, unequally stretched."""
    random = np.random.default_rng(seed)
    labels = random.integers(0, groups, n)
    means = 3.0 * np.linalg.qr(random.normal(size=(SIZE, groups)))[0].T
    means -= means.mean(0)
    return random.normal(size=(n, SIZE)) + means[labels], labels, means


@pytest.mark.parametrize("groups", [2, 4])
def test_planted_directions_are_found_and_nothing_is_left(groups: int) -> None:
    states, labels, means = planted(groups)
    held_out = np.arange(len(labels)) % 4 == 0
    found = nullspace_directions(states, labels, held_out)
    assert found.accuracies[0] > 0.9 and len(found.directions) % (groups - 1) == 0
    assert np.allclose(found.directions @ found.directions.T, np.eye(len(found.directions)), atol=1e-10)
    # the span of the means lies in that of the directions
    rest = means - (means @ found.directions.T) @ found.directions
    assert np.linalg.norm(rest) < 0.1 * np.linalg.norm(means)
    left = states - (states @ found.directions.T) @ found.directions
    fresh = LogisticRegression(C=1e6, max_iter=2000).fit(left[~held_out], labels[~held_out])
    recalls = [fresh.predict(left[held_out])[labels[held_out] == one] == one for one in range(groups)]
    assert np.mean([one.mean() for one in recalls]) < 1 / groups + 0.05
    assert fresh.score(left[~held_out], labels[~held_out]) < 1 / groups + 0.1


def test_the_first_direction_is_that_of_the_published_algorithm() -> None:
    states, labels, _ = planted(2)
    kept = np.arange(len(labels)) % 4 == 0
    found = nullspace_directions(states, labels, kept, iterations=1, at_chance=False)
    scale = np.sqrt(((states[~kept] - states[~kept].mean(0)) ** 2).mean())
    count = int((~kept).sum())
    # ours: mean loss + penalty/2 |w1|^2 + |w2|^2 with w1 = -w2, of states divided by their scale
    theirs = LogisticRegression(C=1 / (count * 1e-3 / 2), class_weight="balanced", tol=1e-8, max_iter=5000)
    weights = theirs.fit((states[~kept] - states[~kept].mean(0)) / scale, labels[~kept]).coef_[0]
    assert abs(found.directions[0] @ weights) / np.linalg.norm(weights) == pytest.approx(1, abs=1e-5)


def test_classes_weigh_the_same_and_iterations_can_be_asked_for() -> None:
    states, labels, _ = planted(2)
    rare = np.flatnonzero((labels == 0) | (np.arange(len(labels)) % 20 == 0))
    recalls = fit_classifier(states[rare], labels[rare], 2).recalls(states, labels)
    assert abs(recalls[0] - recalls[1]) < 0.05
    kept = np.arange(len(labels)) % 4 == 0
    found = nullspace_directions(states, labels, kept, iterations=5, at_chance=False)
    assert len(found.directions) == 5 and len(found.accuracies) == 6 and found.removed == (0, 1, 2, 3, 4, 5)
    everything = nullspace_directions(states, labels, kept, iterations=80, at_chance=False)
    assert len(everything.directions) < SIZE  # something is left to read


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("inlp?iterations=0", "at least 1"),
        ("inlp?penalty=0", "above 0"),
        ("inlp?until=never", "chance"),
        ("sentence-debias?components=0", "at least 1"),
    ],
)
def test_options_out_of_range_are_refused(words: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        load_method(words)
