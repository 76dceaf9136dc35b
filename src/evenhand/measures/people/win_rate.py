"""How often people prefer one model to another: as ACUTE-Eval counts it, and with persons and items crossed."""

import polars as pl

from evenhand.measures.columns import typed

WIN_RATES = (
    typed(pl.String, "measure question model against")
    | typed(pl.Float64, "estimate low high null p q minimum_detectable tie_share agreement")
    | typed(pl.Int64, "n n_missing n_ties n_persons n_items n_units")
    | typed(pl.Float64, "design_effect person_icc item_icc")
    | typed(pl.String, "stars verdict obstacle")
)
"""Columns of `win_rates`: shares between 0 and 1; verdict: preferred, not preferred, not detected, not measurable."""


def win_rates(
    votes: pl.DataFrame, question: str | None = None, *, baseline: str | None = None, alpha: float = 0.05
) -> pl.DataFrame:
    """Share of votes for each model against each other one, for each question.

    votes: VOTES. question: only that one (then corrections are over its pairs alone). baseline: a model that stands
    second wherever it takes part; else the later name stands first.

    Returns two rows per question and pair, columns WIN_RATES: `win_rate` (ours) and `win_rate_published`.
    """
    raise NotImplementedError
