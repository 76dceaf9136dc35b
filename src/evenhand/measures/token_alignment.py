"""Which tokens two sentences of a pair share, and the sums over shared or differing tokens."""

from collections.abc import Collection, Sequence
from difflib import SequenceMatcher

import numpy as np

START, END = -1, -2  # stand for the special tokens of a tokenizer whose scores leave them out


def shared_and_changed(
    first: Sequence[int], second: Sequence[int], special_ids: Collection[int] = ()
) -> tuple[list[int], list[int], list[int], list[int]]:
    """Positions of shared tokens in both sentences, then of the differing tokens in both.

    first, second: token ids; the order matters, for the alignment is not symmetric. special_ids: ids of
    tokens such as CLS and SEP; if the sentences begin and end with them they take part in the alignment
    but are never listed, otherwise stand-ins do. Source: CrowS-Pairs' metric (methods/stereotype_pairs.md):
    `difflib.SequenceMatcher` over ids, "equal" blocks, first and last shared position left out.

    >>> shared_and_changed([5, 6, 7], [5, 8, 9, 7])
    ([0, 2], [0, 3], [1], [1, 2])
    """
    wrapped = all(
        len(ids) > 1 and ids[0] in special_ids and ids[-1] in special_ids for ids in (first, second)
    )
    offset = 0 if wrapped else 1
    one, two = (list(ids) if wrapped else [START, *ids, END] for ids in (first, second))
    shared_one: list[int] = []
    shared_two: list[int] = []
    changed_one: list[int] = []
    changed_two: list[int] = []
    for kind, a, b, c, d in SequenceMatcher(None, one, two).get_opcodes():
        into_one, into_two = (shared_one, shared_two) if kind == "equal" else (changed_one, changed_two)
        into_one.extend(i - offset for i in range(a, b))
        into_two.extend(i - offset for i in range(c, d))
    return shared_one[1:-1], shared_two[1:-1], changed_one, changed_two


def total(log_probabilities: Sequence[float], positions: Sequence[int]) -> float:
    """Sum at the positions; NaN if there are none (nothing was compared) or one is unknown."""
    return float(sum(log_probabilities[i] for i in positions)) if positions else float("nan")


def mean(log_probabilities: Sequence[float], positions: Sequence[int]) -> float:
    """Mean at the positions; NaN if there are none."""
    return float(np.mean([log_probabilities[i] for i in positions])) if positions else float("nan")
