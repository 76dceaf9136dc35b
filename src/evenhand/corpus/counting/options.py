"""Options of a count; counts with different options are not comparable."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenhand.schema import UsageError

NEAR = 5
"""Maximum number of words between a term and a word for a person (noun, pronoun or name) at which the term counts as
being about people.
"""
DESCRIPTOR = "descriptor"
PERSON_KINDS = ("person_noun", "pronoun", "name")
"""Kinds of terms that refer to a person in any context."""
WINDOW = 10
"""Default of the maximum distance in words at which two hits count as a pair."""
CONTEXTS = 5
"""Default number of contexts per term that are kept."""
DEFAULT_PAIRS = ("default",)


@dataclass(frozen=True)
class CountingOptions:
    """Options of a count of terms.

    Raises
    ------
    UsageError
        A number is negative.
    """

    pairs: tuple[str, ...] = DEFAULT_PAIRS
    """Pairs of terms that are counted: default, none, all, or pairs of kinds (see `allowed_pairs`)."""
    window: int = WINDOW
    """Largest number of words between two hits that count as a pair in a window."""
    contexts: int = CONTEXTS
    """Number of sampled contexts per term and corpus."""
    seed: int = 0
    """Random seed for sampling contexts."""
    published: bool = False
    """Whether terms were also counted as the published program does."""

    def __post_init__(self) -> None:
        for name in ("window", "contexts", "seed"):
            if getattr(self, name) < 0:
                raise UsageError(f"{name} must be 0 or more, got {getattr(self, name)}.")


def allowed_pairs(pairs: Sequence[str], kinds: Sequence[str]) -> NDArray[np.bool_]:
    """Return which pairs of kinds of terms are counted together, as a symmetric (kinds, kinds) array.

    pairs: `none`, `all`, `default`, or two kinds as `descriptor*name`. `default` means any two terms with two
    exceptions. Names are paired only with pronouns and person nouns, because pairs of thousands of names with all other
    terms would fill the memory. Person nouns are not paired with each other, because they only serve to distinguish
    senses. kinds: those of the table. Raises UsageError for any other value.

    >>> allowed_pairs(["default"], ["descriptor", "name", "person_noun"]).astype(int).tolist()
    [[1, 0, 1], [0, 0, 1], [1, 1, 0]]
    >>> allowed_pairs(["name*descriptor"], ["descriptor", "name"]).astype(int).tolist()
    [[0, 1], [1, 0]]
    """
    allowed = np.zeros((len(kinds), len(kinds)), dtype=bool)
    place = {kind: i for i, kind in enumerate(kinds)}
    for word in pairs:
        first, star, second = word.partition("*")
        if word == "all":
            allowed[:] = True
        elif word == "default":
            named = np.array([kind == "name" for kind in kinds], dtype=bool)
            nouns = np.array([kind == "person_noun" for kind in kinds], dtype=bool)
            other = ~nouns & np.array([kind != "pronoun" for kind in kinds], dtype=bool)
            allowed |= ~(named & other[:, None] | other & named[:, None] | nouns & nouns[:, None])
        elif star and first in place and second in place:
            allowed[place[first], place[second]] = allowed[place[second], place[first]] = True
        elif word != "none":
            raise UsageError(
                f"Unknown pairs of terms: {word!r}.",
                f"Expected default, none, all, or two kinds as descriptor*name. Kinds: {', '.join(kinds)}.",
            )
    return allowed
