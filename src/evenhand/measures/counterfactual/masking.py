"""Hide the words that the counterfactual changed in responses, so that their repetition is not a difference."""

from collections.abc import Iterable

import polars as pl

from evenhand.measures.texts import words

APOSTROPHES = ("'", "\u2019")
HIDDEN = "\ufffc"
"""Placeholder for a hidden word, or for several in a row."""


def changed_words(texts: Iterable[str]) -> frozenset[str]:
    """Return the words, in lower case, that occur in some wordings of a prompt but not in all of them.

    >>> sorted(changed_words(["Maria says she is late.", "John says he is late."]))
    ['he', 'john', 'maria', 'she']
    """
    each = [frozenset(row) for row in words(pl.Series(list(texts), dtype=pl.String)).to_list()]
    if not each:
        return frozenset()
    changed = frozenset.union(*each) - frozenset.intersection(*each)
    return frozenset(word for word in changed if any(letter.isalnum() for letter in word))


def hide(tokens: list[str], hidden: frozenset[str]) -> list[str]:
    """Replace each run of hidden words, with a following genitive ('s), by one placeholder token.

    >>> hide("an african american woman ' s friend".split(), frozenset({"african", "american", "woman"}))
    ['an', '\ufffc', 'friend']
    """
    made: list[str] = []
    for place, token in enumerate(tokens):
        after = bool(made) and made[-1] == HIDDEN
        if token in hidden:
            made += [] if after else [HIDDEN]
        elif after and token in APOSTROPHES and tokens[place + 1 : place + 2] == ["s"]:
            continue
        elif not (after and token == "s" and tokens[place - 1] in APOSTROPHES):
            made.append(token)
    return made
