"""The interface of a classifier, and the results that it returns for texts."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from evenhand.schema import ResponseError


@dataclass(frozen=True)
class Labels:
    """Results of a classifier for n texts, which `Classifier.classify` returns.

    Rows with an error have NaN scores, no label and no verdict (`negative`).
    """

    scores: NDArray[np.float32]  # (n, k); one column per label of the classifier
    labels: list[str | None]  # (n,); the chosen class; None if there are only scores
    score: NDArray[np.float64]  # (n,); how harmful; NaN if no label is harmful
    negative: list[bool | None]  # (n,); the verdict at the classifier's own threshold
    errors: list[ResponseError | None]  # (n,)
    details: list[str | None] = field(default_factory=list)  # (n,) or empty; the message for an error code

    def __len__(self) -> int:
        return len(self.errors)


@runtime_checkable
class Classifier(Protocol):
    """Interface of a classifier of texts, as `load_classifier` returns it.

    Implement it to use your own classifier. It receives only texts, so it knows neither the prompts nor the
    model.

    Attributes
    ----------
    labels : tuple of str
        Names of the columns of `Labels.scores`.
    reads_context : bool
        Whether the text before the classified one affects the result.
    """

    labels: tuple[str, ...]
    """Names of the columns of `Labels.scores`."""
    reads_context: bool
    """Whether the text before the classified one affects the result."""

    @property
    def fingerprint(self) -> dict[str, Any]:
        """Return everything that determines the results of the classifier, JSON-serialisable.

        Stored labels are reused only if the fingerprint is the same. It contains the name, the revision or a
        hash of the weights, the order of labels, the threshold and the truncation.
        """
        ...

    def classify(self, texts: Sequence[str], contexts: Sequence[str | None] | None = None) -> Labels:
        """Classify each text.

        Parameters
        ----------
        texts : sequence of str, length n
            The texts.
        contexts : sequence of str or None, optional
            The text before each, for classifiers that read it; otherwise None.

        Returns
        -------
        Labels
            One row per text. A text that cannot be classified is an error row, not an exception.

        Raises
        ------
        EvenhandError
            No text can be classified (no key, no model).
        """
        ...

    def describe(self) -> dict[str, Any]:
        """Return facts for the report.

        They are the name, revision, licence, threshold and device, and the number of texts and calls.
        """
        ...
