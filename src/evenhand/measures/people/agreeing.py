"""Which items people agree on, and which persons agree with the others."""

import polars as pl

from evenhand.measures.columns import typed

ITEMS = (
    typed(pl.String, "question item majority")
    | typed(pl.Float64, "majority_share agreeing_pairs")
    | typed(pl.Int64, "n")
)
"""Columns of `item_agreement`. majority: null where two answers are given as often."""
PERSONS = (
    typed(pl.String, "question person")
    | typed(pl.Float64, "estimate low high expected p q")
    | typed(pl.Int64, "n n_items")
    | typed(pl.String, "obstacle")
)
"""Columns of `person_agreement`."""


def item_agreement(votes: pl.DataFrame, question: str | None = None) -> pl.DataFrame:
    """Per question and item with a vote: majority answer, its share, share of agreeing pairs (null with one vote)."""
    raise NotImplementedError


def person_agreement(votes: pl.DataFrame, question: str | None = None) -> pl.DataFrame:
    """Per question and person: mean share of the others' votes on the same items that are the person's.

    expected: what others who answered by chance with the question's shares would give; p, q (Holm): one-sided, that
    the person agrees with others no more than by chance is NOT refuted - small p says the person agrees.
    """
    raise NotImplementedError
