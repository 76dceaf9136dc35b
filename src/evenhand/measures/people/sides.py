"""Whether people choose what stands on the left, and what it does to the preference."""

import polars as pl

from evenhand.measures.columns import typed

SIDES = (
    typed(pl.String, "measure question model against")
    | typed(pl.Float64, "estimate low high null p q minimum_detectable raw left_share")
    | typed(pl.Int64, "n n_missing n_persons n_items n_units")
    | typed(pl.String, "verdict obstacle")
)
"""Columns of `side_effect`."""


def side_effect(votes: pl.DataFrame, question: str | None = None, *, alpha: float = 0.05) -> pl.DataFrame:
    """Share of votes for the left side (`side_share`), and win rates with both sides weighing the same.

    votes: VOTES. Returns per question one row of measure `side_share` (model, against null; null 0.5) and for each pair
    of models one of `win_rate_by_side`: estimate is the mean of the shares with the model left and right, raw the share
    of all votes, left_share how often the model stood on the left; p tests whether the share depends on balance.
    """
    raise NotImplementedError
