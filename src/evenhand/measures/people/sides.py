"""Test whether annotators prefer the conversation on the left, and how this affects preferences between models."""

import polars as pl

from evenhand.measures.columns import typed
from evenhand.measures.info import MeasureInfo
from evenhand.measures.people.selecting import (
    by_keys,
    decide,
    numbers,
    paired_votes,
    shared_by,
    testable,
    too_few,
)
from evenhand.measures.people.win_rate import ACUTE_EVAL, PREFERRED, counted, inseparable, sides_of, weighed
from evenhand.schema import Card, checked_kinds
from evenhand.stats.votes import crossed_share

SIDES = (
    typed(pl.String, "measure question model against")
    | typed(pl.Float64, "estimate low high null p q minimum_detectable raw left_share balance_p")
    | typed(pl.Int64, "n n_missing n_persons n_items n_units")
    | typed(pl.String, "verdict obstacle")
)
"""Columns of `side_effect`; raw, left_share and balance_p are null in rows of `side_share`."""


@checked_kinds
def side_effect(votes: pl.DataFrame, question: str | None = None, *, alpha: float = 0.05) -> pl.DataFrame:
    """Test whether people prefer the conversation on the left or on the right.

    Use it to check a study of pairwise choices. The result also has win rates of models with both sides weighted
    equally.

    Parameters
    ----------
    votes : polars.DataFrame
        One row per choice between the conversations of two models, as in `win_rates`. Rows that do not state what was
        on the left are missing.
    question : str, optional
        One question. Default: all choices between two.
    alpha : float, default 0.05
        Probability of any false verdict over the rows of a measure (Holm).

    Returns
    -------
    polars.DataFrame
        Rows of two measures (column ``measure``). All shares are from 0 to 1.

        One row of `side_share` per question:
        - ``estimate``: share of judgements for the left, with 95% CI. The null is 0.5.
        - ``verdict``: left, right, not detected, not measurable.

        One row of `win_rate_by_side` per pair of models:
        - ``estimate``: mean of two shares of judgements for ``model``: when it was on the left, and when it was on the
          right.
        - ``raw``: share of all judgements for ``model``.
        - ``left_share``: how often ``model`` was on the left. ``balance_p``: p-value of an even assignment of sides.

    Raises
    ------
    DataError
        A column is missing, the question is unknown, or an answer is not a, b or tie.

    Notes
    -----
    If left_share is 0.5, a preference for a side cannot change the win rate: raw and estimate agree.
    """
    known = paired_votes(votes, "side_effect", question, None).with_columns(
        value=pl.when(pl.col("on_left").is_not_null()).then("value")
    )
    sides = [_side(str(name), part) for (name,), part in by_keys(known, ["question"])]
    pairs = list(by_keys(known, ["question", "model", "against"]))
    balanced = [_balanced(keys, part, alpha / testable(len(pairs))) for keys, part in pairs]
    rows = decide(sides, alpha, ("left", "right")) + decide(balanced, alpha, PREFERRED)
    return pl.DataFrame(rows, schema=SIDES).with_columns(pl.col(pl.Float64).fill_nan(None))


def _side(question: str, part: pl.DataFrame) -> dict[str, object]:
    used = part.drop_nulls("value").with_columns(
        left=pl.when("on_left").then("value").otherwise(1 - pl.col("value"))
    )
    found = crossed_share(numbers(used, "left"), shared_by(used, ["person", "item"]))
    persons, items = used["person"].n_unique(), used["item"].n_unique()
    return {
        "measure": "side_share",
        "question": question,
        "estimate": found.estimate,
        "low": found.low,
        "high": found.high,
        "null": 0.5,
        "p": found.p,
        "minimum_detectable": found.detectable(),
        "n": used.height,
        "n_missing": part.height - used.height,
        "n_persons": persons,
        "n_items": items,
        "n_units": min(persons, items),
        "obstacle": too_few(persons, items),
    }


def _balanced(keys: tuple[str, ...], part: pl.DataFrame, level: float) -> dict[str, object]:
    used = part.drop_nulls("value")
    row = {
        **counted(keys, part),
        **sides_of(used),
        "measure": "win_rate_by_side",
        "raw": float(numbers(used).mean()) if used.height else None,
    }
    if obstacle := inseparable(used):
        return row | {"obstacle": obstacle}
    found = weighed(used, by_side=used["value"].n_unique() > 1)
    return row | {
        "estimate": found.estimate,
        "low": found.low,
        "high": found.high,
        "p": found.p,
        "minimum_detectable": found.detectable(level),
    }


CARDS = (
    MeasureInfo.of(
        Card(
            name="side_share",
            summary="Share of human choices for the conversation on the left.",
            construct="Whether people choose a side rather than a conversation.",
            harm="None by itself. Choosing a side blurs preferences, and changes them if one model is on the left "
            "more often.",
            groups="All pairs of a question, by the side of the chosen conversation.",
            ideal="0.5: the side has no effect.",
            direction="A preference for either side is noise.",
            null="0.5. Annotators and items are random samples.",
            critique=(
                "Two opposite habits cancel: annotators who always choose left and annotators who always choose "
                "right give 0.5 (`person_agreement` detects them). ACUTE-Eval draws the side once for each pair and "
                "does not analyse it."
            ),
            citation=ACUTE_EVAL,
            source="As for win_rate, with sides instead of models",
        ),
        unit="share",
        ideal=0.5,
    ),
    MeasureInfo.of(
        Card(
            name="win_rate_by_side",
            summary="Win rate with equal weight for the judgements with the model on the left and on the right.",
            construct="Which model people prefer, independent of the side that they prefer.",
            harm="None by itself. The measure shows whether a fairer model is also a worse one to talk to.",
            groups="Two models whose conversations are shown side by side. The side is held fixed.",
            ideal="0.5: neither is preferred.",
            direction="Neither model is the harmful one.",
            null="0.5. Annotators, items and conversations are random samples.",
            critique=(
                "The measure assumes that the side has the same effect for both models. If sides are balanced, the "
                "value equals win_rate; if they are not, win_rate uses this value. A study in which a model was "
                "always on one side cannot be repaired."
            ),
            citation=ACUTE_EVAL,
            source="Mean of two strata; standard error by the covariances of judgements, as for win_rate",
        ),
        unit="share",
        ideal=0.5,
    ),
)
