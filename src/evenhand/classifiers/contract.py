"""The contract of a classifier: what it can be asked, and what it says of texts."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from evenhand.schema import ResponseError


@dataclass(frozen=True)
class Labels:
    """What a classifier says of n texts. Rows with an error have NaN scores, no label and no verdict."""

    scores: NDArray[np.float32]  # (n, k); one column for each of the classifier's labels
    labels: list[str | None]  # (n,); the class decided on, None where there are scores alone
    score: NDArray[np.float64]  # (n,); how harmful; NaN where the classifier has no harmful side
    negative: list[bool | None]  # (n,); the verdict at the classifier's own threshold
    errors: list[ResponseError | None]  # (n,)
    details: list[str | None] = field(default_factory=list)  # (n,) or empty; the message behind a code

    def __len__(self) -> int:
        return len(self.errors)


@runtime_checkable
class Classifier(Protocol):
    """Who judges a text. Built by `load_classifier`; reads no prompt table and knows no model."""

    labels: tuple[str, ...]
    """Names of the columns of `Labels.scores`."""
    reads_context: bool
    """Whether the text in front of the judged one changes the judgement."""

    @property
    def fingerprint(self) -> dict[str, Any]:
        """JSON-serialisable: name, revision or weights hash, label order, threshold, truncation: whatever
        makes a stored label reusable."""
        ...

    def classify(self, texts: Sequence[str], contexts: Sequence[str | None] | None = None) -> Labels:
        """Judge each text.

        texts: n strings. contexts: what stood in front of each; only for classifiers that read it, None for
        others. A text that cannot be judged is an error row, not an exception; EvenhandError where no text can
        be (no key, model gone).
        """
        ...

    def describe(self) -> dict[str, Any]:
        """What a reader of the report wants to know: name, revision, licence, threshold, device, texts and
        calls so far."""
        ...
