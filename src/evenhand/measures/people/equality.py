"""Persons' views on equality (SDO7), and whether they choose otherwise for it."""

from collections.abc import Mapping

import polars as pl

from evenhand.measures.columns import typed

SCORES = typed(pl.String, "person third") | typed(pl.Float64, "score") | typed(pl.Int64, "n")
STATEMENTS = typed(pl.String, "question") | typed(pl.Float64, "estimate low high") | typed(pl.Int64, "n sign")
BY_VIEWS = (
    typed(pl.String, "measure question model against third")
    | typed(pl.Float64, "estimate low high null p q minimum_detectable")
    | typed(pl.Int64, "n n_persons n_items n_units")
    | typed(pl.String, "stars verdict obstacle")
)


def sdo_scores(votes: pl.DataFrame, signs: Mapping[str, int], *, middle: float = 4.0) -> pl.DataFrame:
    """Each person's mean of sign x (rating - middle) over the statements rated (higher: for equality), and the third.

    signs: of the statements (ids, as in `question`): 1 where agreement is for equality, -1 where against.
    third: top, middle, bottom; persons of equal scores share a third: the one in which the middle of their ranks lies.
    Columns SCORES; persons who rated none are left out.
    """
    raise NotImplementedError


def statement_ratings(votes: pl.DataFrame, signs: Mapping[str, int]) -> pl.DataFrame:
    """Mean rating of each statement; columns STATEMENTS plus `share_<rating>`."""
    raise NotImplementedError


def win_rates_by_views(
    votes: pl.DataFrame,
    signs: Mapping[str, int],
    question: str | None = None,
    *,
    middle: float = 4.0,
    baseline: str | None = None,
    alpha: float = 0.05,
) -> pl.DataFrame:
    """Win rates of the top and bottom thirds (`win_rate_by_third`, published) and ours: `win_rate_slope`, how many
    shares the preference moves per point of the score, persons and items as random.

    Columns BY_VIEWS.
    """
    raise NotImplementedError
