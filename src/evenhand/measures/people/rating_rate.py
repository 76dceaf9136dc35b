"""How people rate what models wrote: shares of options, means, and differences between models or groups."""

import polars as pl

from evenhand.measures.columns import typed

RATES = (
    typed(pl.String, "question option by level")
    | typed(pl.Float64, "estimate low high person_icc item_icc")
    | typed(pl.Int64, "n n_missing n_persons n_items")
    | typed(pl.String, "obstacle")
)
"""Columns of `rating_rates`. option null: the mean of the values."""
DIFFERENCES = (
    typed(pl.String, "measure question option by level against")
    | typed(pl.Float64, "estimate low high null p q minimum_detectable chi_square")
    | typed(pl.Int64, "n n_missing n_persons n_items n_units freedom")
    | typed(pl.String, "verdict obstacle")
)
"""Columns of `rating_differences`."""


def rating_rates(
    votes: pl.DataFrame, question: str | None = None, *, by: str = "model", values: bool | None = None
) -> pl.DataFrame:
    """Share of each option, or mean value, per model (or another column, or a key of the column `groups`).

    votes: VOTES. question: None: all of measurement nominal, ordinal and interval. by: a column of VOTES, or a key in
    the JSON of `groups`. values: means instead of shares; None: means for interval, shares else.
    Returns one row per question, option and level, columns RATES.
    """
    raise NotImplementedError


def rating_differences(
    votes: pl.DataFrame,
    question: str | None = None,
    *,
    by: str = "model",
    values: bool | None = None,
    baseline: str | None = None,
    alpha: float = 0.05,
) -> pl.DataFrame:
    """Differences between levels of `by`: ours (`rating_difference`) beside chi-square (`rating_chi_square`).

    As `rating_rates`; columns DIFFERENCES. `rating_chi_square` rows: one per question (level null: all levels) and one
    per pair of levels, option null.
    """
    raise NotImplementedError
