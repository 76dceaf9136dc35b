"""Hits: what the matcher found in a batch of documents, as flat arrays with one entry per hit."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Hits:
    """All occurrences of terms (hits) in a batch of n documents; the result of `Matcher.find`.

    Hits are sorted by document, then by start. Overlapping and nested hits are included.
    """

    document: NDArray[np.int32]
    """(hits,) index of the document in the batch."""
    surface: NDArray[np.int32]
    """(hits,) row of `TermTable.surfaces`."""
    start: NDArray[np.int64]
    """(hits,) character of the normalised document (see `normalised`) at which the hit begins."""
    nested: NDArray[np.bool_]
    """(hits,) whether the hit is inside a longer one ("American" in "African American")."""
    sentence: NDArray[np.int32]
    """(hits,) number of the sentence within its document."""
    word: NDArray[np.int32]
    """(hits,) number of the hit's first word within its document."""
    words: NDArray[np.int64]
    """(n,) number of words of each document."""
    sentences: NDArray[np.int64]
    """(n,) number of sentences of each document."""


def join_hits(parts: Sequence[Hits]) -> Hits:
    """Join the hits of consecutive batches of documents."""
    if len(parts) == 1:
        return parts[0]
    columns = {
        each.name: np.concatenate([getattr(part, each.name) for part in parts]) for each in fields(Hits)
    }
    documents = [len(part.words) for part in parts]
    in_front = np.cumsum(documents) - documents
    columns["document"] += np.repeat(in_front, [len(part.document) for part in parts]).astype(np.int32)
    return Hits(**columns)
