"""Predict the group from states: logistic regression in which each group has the same total weight."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
PENALTY = 1e-3
"""Penalty on the squared weights, for states with a mean squared deviation of 1 per component."""
MOST_STEPS = 300


@dataclass(frozen=True)
class LinearClassifier:
    """A linear classifier with `weights` (classes, size) and `intercepts` (classes,)."""

    weights: Floats
    intercepts: Floats

    def recalls(self, states: Floats, labels: Ints) -> Floats:
        """Return the share of each class that is classified correctly, shape (classes,)."""
        told = (states @ self.weights.T + self.intercepts).argmax(1)
        right = np.bincount(labels, told == labels, minlength=len(self.weights))
        return np.asarray(right / np.bincount(labels, minlength=len(self.weights)).clip(min=1))


def fit_classifier(states: Floats, labels: Ints, classes: int, penalty: float = PENALTY) -> LinearClassifier:
    """Fit a classifier that minimises the mean cross-entropy over classes plus `penalty` times the squared weights.

    Every class has the same weight, regardless of its number of rows. The problem is convex and starts at zero, so the
    result is deterministic.

    Parameters
    ----------
    states : numpy.ndarray, shape (n, size)
        Features. The fitted weights are in the span of the centred states.
    labels : numpy.ndarray of int, shape (n,)
        Classes, 0 to `classes` - 1.
    classes : int
        Number of classes.
    penalty : float
        Penalty on the squared weights.

    Returns
    -------
    LinearClassifier
        The fitted classifier.

    >>> states, labels = np.array([[-1.0, 5.0], [-2.0, 5.0], [1.0, 5.0], [2.0, 5.0]]), np.array([0, 0, 1, 1])
    >>> fit_classifier(states, labels, 2).recalls(states, labels).tolist()
    [1.0, 1.0]
    """
    centre = states.mean(0)
    scale = float(np.sqrt(((states - centre) ** 2).mean())) or 1.0
    inner = (states - centre) / scale
    n, size = inner.shape
    share = 1 / (classes * np.bincount(labels, minlength=classes).clip(min=1))[labels]  # sums to 1
    right = np.eye(classes)[labels]

    def surprise(flat: Floats) -> tuple[float, Floats]:
        weights, intercepts = flat[:-classes].reshape(classes, size), flat[-classes:]
        logs = log_softmax(inner @ weights.T + intercepts, axis=1)
        value = -float(share @ logs[np.arange(n), labels]) + 0.5 * penalty * float((weights**2).sum())
        error = (np.exp(logs) - right) * share[:, None]
        return value, np.concatenate([(error.T @ inner + penalty * weights).ravel(), error.sum(0)])

    found = minimize(
        surprise, np.zeros(classes * (size + 1)), jac=True, method="L-BFGS-B", options={"maxiter": MOST_STEPS}
    ).x
    weights = found[:-classes].reshape(classes, size) / scale
    return LinearClassifier(weights, found[-classes:] - weights @ centre)
