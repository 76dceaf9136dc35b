"""Similarity of texts: ROUGE-L of their words, and cosine of the vectors from an embedding model."""

from collections.abc import Callable, Sequence

import numpy as np

from evenhand.stats import Floats

Embedding = Callable[[list[str]], Floats]
"""Function that maps a list of texts to an array of vectors, shape (texts, dimensions)."""


def rouge_l(texts: Sequence[Sequence[str]]) -> Floats:
    """Return the ROUGE-L similarity (0 to 1) of all pairs of texts.

    Parameters
    ----------
    texts : sequence of sequences of str
        The words of each text.

    Returns
    -------
    numpy.ndarray, shape (texts, texts)
        Twice the length of the longest common subsequence, divided by the sum of both lengths. This is the F measure
        with equal weights. Two texts without words have similarity 1.

    References
    ----------
    - Lin 2004, ROUGE: A Package for Automatic Evaluation of Summaries, section 3.1.
    - Hyyrö 2004: bit-parallel computation of the subsequence.

    >>> rouge_l([["a", "b", "c"], ["a", "c"], []]).tolist()
    [[1.0, 0.8, 0.0], [0.8, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    kernel = np.eye(len(texts))
    keys = [tuple(text) for text in texts]
    places = [_places(text) for text in keys]
    known: dict[tuple[tuple[str, ...], tuple[str, ...]], float] = {}
    for i, first in enumerate(keys):
        for j in range(i):
            second = keys[j]
            if first == second:
                value = 1.0
            elif (first, second) in known:
                value = known[first, second]
            elif not first or not second:
                value = 0.0
            else:
                value = 2 * _common(places[i], len(first), second) / (len(first) + len(second))
                known[first, second] = value
            kernel[i, j] = kernel[j, i] = value
    return kernel


def cosines(vectors: Floats) -> Floats:
    """Return the cosine similarity of all pairs of vectors, shape (texts, texts). It is 0 if a vector is all zeros.

    >>> cosines(np.array([[3.0, 0.0], [1.0, 1.0]])).round(3).tolist()
    [[1.0, 0.707], [0.707, 1.0]]
    """
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = np.divide(vectors, lengths, out=np.zeros_like(vectors, dtype=np.float64), where=lengths > 0)
    return np.asarray(unit @ unit.T)


def _places(text: Sequence[str]) -> dict[str, int]:
    """Return for each word a bit mask of its positions."""
    bits: dict[str, int] = {}
    for place, word in enumerate(text):
        bits[word] = bits.get(word, 0) | 1 << place
    return bits


def _common(places: dict[str, int], length: int, other: Sequence[str]) -> int:
    """Return the length of the longest common subsequence."""
    everything = (1 << length) - 1
    row = everything
    for word in other:
        match = row & places.get(word, 0)
        row = ((row + match) | (row - match)) & everything
    return length - row.bit_count()
