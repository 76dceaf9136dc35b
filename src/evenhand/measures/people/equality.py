"""Annotators' views on equality (SDO7), and whether their preferences depend on these views."""

from collections.abc import Mapping

import numpy as np
import polars as pl

from evenhand.measures.columns import finite, typed
from evenhand.measures.info import MARTHA, MeasureInfo
from evenhand.measures.people.selecting import (
    by_keys,
    decide,
    numbers,
    paired_votes,
    require_votes,
    shared_by,
    testable,
    too_few,
)
from evenhand.measures.people.win_rate import conversations
from evenhand.schema import Card, DataError, checked_kinds
from evenhand.stats import Interval, clustered_mean
from evenhand.stats.votes import binomial_p, crossed_slope, stars

SCORES = typed(pl.String, "person third") | typed(pl.Float64, "score") | typed(pl.Int64, "n")
STATEMENTS = typed(pl.String, "question") | typed(pl.Float64, "estimate low high") | typed(pl.Int64, "n sign")
BY_VIEWS = (
    typed(pl.String, "measure question model against third")
    | typed(pl.Float64, "estimate low high null p q minimum_detectable")
    | typed(pl.Int64, "n n_missing n_persons n_items n_units")
    | typed(pl.String, "stars verdict obstacle")
)
THIRDS = ("bottom", "middle", "top")


@checked_kinds
def sdo_scores(votes: pl.DataFrame, signs: Mapping[str, int], *, middle: float = 4.0) -> pl.DataFrame:
    """Return each annotator's support for equality, from ratings of survey statements.

    Use it to describe the views of annotators, and pass the same votes to `win_rates_by_views`. Higher scores support
    equality more. The scale is the reverse of social dominance orientation (SDO).

    Parameters
    ----------
    votes : polars.DataFrame
        One row per rating of a statement. Columns: ``person``, ``question`` (the statement), ``role``, ``value`` (the
        rating) and ``excluded``. A row counts if its role is "survey", its question is in `signs`, it has a value, and
        excluded is null.
    signs : mapping of str to int
        Signs of statements: 1 if agreement supports equality, -1 if it opposes equality.
    middle : float, default 4.0
        Middle of the scale. 4 is that of 1 to 7, which gives scores of -3 to 3.

    Returns
    -------
    polars.DataFrame
        One row per annotator (``person``) with a rating.
        - ``score``: points of the scale. ``n``: rated statements.
        - ``third``: bottom, middle or top, by the mid-rank of the score. Equal scores are in one third, so thirds may
          differ in size.

    Raises
    ------
    DataError
        A column is missing, a sign is not 1 or -1, or there is no rating.

    Notes
    -----
    The score is the mean of sign × (rating - middle) over the rated statements.

    Examples
    --------
    >>> votes = pl.DataFrame({"person": list("aabbcc"), "question": ["yes", "no"] * 3, "role": ["survey"] * 6,
    ...     "value": [7.0, 2.0, 4.0, 4.0, 1.0, 6.0], "excluded": [None] * 6})
    >>> sdo_scores(votes, {"yes": 1, "no": -1}).select("person", "score", "third").rows()
    [('a', 2.5, 'top'), ('b', 0.0, 'middle'), ('c', -2.5, 'bottom')]
    """
    rated = _select_ratings(votes, signs, "sdo_scores")
    sign = pl.col("question").replace_strict(dict(signs), return_dtype=pl.Float64)
    scored = rated.with_columns(score=sign * (pl.col("value") - middle))
    people = (
        scored.group_by("person").agg(pl.col("score").mean().round(12), pl.len().alias("n")).sort("person")
    )
    place = (pl.col("score").rank("average") - 0.5) / people.height
    third = pl.when(place < 1 / 3).then(pl.lit("bottom")).when(place > 2 / 3).then(pl.lit("top"))
    return people.with_columns(third=third.otherwise(pl.lit("middle"))).select(
        [pl.col(name).cast(kind) for name, kind in SCORES.items()]
    )


@checked_kinds
def statement_ratings(votes: pl.DataFrame, signs: Mapping[str, int]) -> pl.DataFrame:
    """Return the mean rating of each survey statement, with a 95% CI over annotators.

    Use it to describe the answers to a survey on equality, statement by statement.

    Parameters
    ----------
    votes : polars.DataFrame
        Ratings of statements, as in `sdo_scores`.
    signs : mapping of str to int
        Signs of statements: 1 if agreement supports equality, -1 if it opposes equality.

    Returns
    -------
    polars.DataFrame
        One row per rated statement (``question``), in the order of `signs`.
        - ``estimate``, ``low``, ``high``: points of the scale, not multiplied by the sign.
        - ``share_1``, ...: share of each rating, 0 to 1.
        - ``n``: ratings. ``sign``: as passed.

    Raises
    ------
    DataError
        A column is missing, a sign is not 1 or -1, or there is no rating.

    Examples
    --------
    >>> votes = pl.DataFrame({"person": list("aabbcc"), "question": ["yes", "no"] * 3, "role": ["survey"] * 6,
    ...     "value": [7.0, 2.0, 4.0, 4.0, 1.0, 6.0], "excluded": [None] * 6})
    >>> statement_ratings(votes, {"yes": 1, "no": -1}).select("question", "estimate", "n").rows()
    [('yes', 4.0, 3), ('no', 4.0, 3)]
    """
    rated = _select_ratings(votes, signs, "statement_ratings")
    ratings = sorted(rated["value"].unique())
    rows = []
    for name, sign in signs.items():
        part = rated.filter(pl.col("question") == name)
        if part.height:
            found: Interval = clustered_mean(numbers(part), part["person"].to_list(), seed=0)
            row = {"question": name, "estimate": found.estimate, "low": found.low, "high": found.high}
            shares = {f"share_{rating:g}": float((part["value"] == rating).mean()) for rating in ratings}
            rows.append({**row, "n": part.height, "sign": sign, **shares})
    schema = STATEMENTS | {f"share_{rating:g}": pl.Float64 for rating in ratings}
    return pl.DataFrame(rows, schema=schema).with_columns(pl.col(pl.Float64).fill_nan(None))


@checked_kinds
def win_rates_by_views(
    votes: pl.DataFrame,
    signs: Mapping[str, int],
    question: str | None = None,
    *,
    middle: float = 4.0,
    baseline: str | None = None,
    alpha: float = 0.05,
) -> pl.DataFrame:
    """Test whether annotators who support and oppose equality prefer different models.

    Use it if annotators compared two models and also rated statements on equality. The slope is the test to report. The
    rates by third are as published.

    Parameters
    ----------
    votes : polars.DataFrame
        Choices between conversations of two models (see `win_rates`), and ratings of statements (see `sdo_scores`).
    signs : mapping of str to int
        Sign of each statement, as in `sdo_scores`.
    question : str, optional
        One of the choices. Default: all.
    middle : float, default 4.0
        Middle of the scale of ratings.
    baseline : str, optional
        The model that is ``against`` in each of its pairs, as in `win_rates`.
    alpha : float, default 0.05
        Probability of any false verdict across all pairs and questions.

    Returns
    -------
    polars.DataFrame
        Rows of two measures for each question and pair of models, ``model`` and ``against``:
        - `win_rate_slope`: increase of the share of judgements for ``model`` per point of the equality score, with 95%
          CI, p and q. Above 0, supporters of equality prefer ``model`` more. The null is 0. Verdicts: rises, falls, not
          detected, not measurable.
        - `win_rate_by_third`: this share (0 to 1) among annotators in the top and in the bottom ``third`` of the score.
          Ties are left out; p is exact and binomial, with stars. There is no verdict.

    Raises
    ------
    DataError
        A column is missing, a question is unknown, an answer or sign is invalid, or there is no rating.

    Notes
    -----
    The slope uses all scores and treats annotators and items as random samples. Judgements of annotators without a
    score are missing.
    """
    scores = sdo_scores(votes, signs, middle=middle)
    known = paired_votes(votes, "win_rates_by_views", question, baseline).join(
        scores.select("person", "score", "third"), on="person", how="left", maintain_order="left"
    )
    pairs = list(by_keys(known, ["question", "model", "against"]))
    slopes = [_slope(keys, part, alpha / testable(len(pairs))) for keys, part in pairs]
    thirds = [_third(keys, part, third) for keys, part in pairs for third in ("top", "bottom")]
    rows = thirds + decide(slopes, alpha, ("rises", "falls"))
    return pl.DataFrame(rows, schema=BY_VIEWS).with_columns(pl.col(pl.Float64).fill_nan(None))


def _select_ratings(votes: pl.DataFrame, signs: Mapping[str, int], measure: str) -> pl.DataFrame:
    require_votes(votes, ["person", "question", "role", "value", "excluded"], measure)
    if not signs or not set(signs.values()) <= {1, -1}:
        raise DataError(
            f"{measure}: signs must contain 1 or -1 for each statement.",
            "Use 1 if agreement with the statement supports equality, and -1 if it opposes equality.",
        )
    rows = votes.filter(
        (pl.col("role") == "survey") & pl.col("excluded").is_null() & pl.col("question").is_in(list(signs))
    )
    try:
        rated = rows.with_columns(finite(pl.col("value"))).drop_nulls("value")
    except pl.exceptions.PolarsError as error:
        raise DataError(
            f"{measure}: ratings must be numbers, but the column value contains text.",
            "Convert the column value to numbers.",
        ) from error
    if rated.is_empty():
        raise DataError(
            f"{measure}: no annotator rated any of the {len(signs)} statements.",
            "Check signs: its keys must occur in the column question, in rows with the role survey and a rating "
            "in the column value.",
        )
    return rated


def _counts_row(keys: tuple[str, ...], used: pl.DataFrame, missing: int) -> dict[str, object]:
    persons, items = used["person"].n_unique(), used["item"].n_unique()
    return {
        **dict(zip(("question", "model", "against"), keys, strict=True)),
        "n": used.height,
        "n_missing": missing,
        "n_persons": persons,
        "n_items": items,
        "n_units": min(persons, items),
        "obstacle": too_few(persons, items, **conversations(keys, used)),
    }


def _slope(keys: tuple[str, ...], part: pl.DataFrame, level: float) -> dict[str, object]:
    used = part.drop_nulls(["value", "score"])
    said = _counts_row(keys, used, part.height - used.height)
    found = crossed_slope(
        numbers(used), numbers(used, "score"), shared_by(used, ["person", "item", "mine", "theirs"])
    )
    if np.isnan(found.estimate):
        said["obstacle"] = said["obstacle"] or "All persons have the same score."
    elif np.isnan(found.p):
        said["obstacle"] = said["obstacle"] or (
            "The votes do not vary around the fitted line (they are all equal, for example), so its error is unknown."
        )
    return {
        **said,
        "measure": "win_rate_slope",
        "estimate": found.estimate,
        "low": found.low,
        "high": found.high,
        "null": 0.0,
        "p": found.p,
        "minimum_detectable": found.detectable(level),
    }


def _third(keys: tuple[str, ...], part: pl.DataFrame, third: str) -> dict[str, object]:
    forced = part.filter((pl.col("third") == third) & (pl.col("value") != 0.5))
    wins, n = int(forced["value"].sum()), forced.height
    p = binomial_p(wins, n)
    return {
        **_counts_row(keys, forced, 0),
        "measure": "win_rate_by_third",
        "third": third,
        "estimate": wins / n if n else None,
        "null": 0.5,
        "p": p,
        "stars": stars(p),
        "obstacle": None if n else "There are no votes.",
    }


_HO = (
    "Ho et al. 2015, The nature of social dominance orientation: Theorizing and measuring preferences for intergroup "
    "inequality using the new SDO7 scale, Journal of Personality and Social Psychology 109"
)
_VIEWS = {
    "harm": "If annotators who care less about inequality decide, a model that demeans people may win.",
    "groups": "Annotators, by their answers to statements on equality. Models and items are held fixed.",
    "citation": f"{_HO}; {MARTHA}",
}
CARDS = (
    MeasureInfo.of(
        Card(
            name="sdo_score",
            summary="An annotator's mean agreement with equality over the rated statements of the SDO7 scale, -3 to "
            "3.",
            construct="How strongly an annotator supports equality of groups (the reverse of social dominance "
            "orientation).",
            ideal="None. A view is not a fault.",
            direction="Higher means more support for equality.",
            null="0: the middle of the scale.",
            critique=(
                "With two of the scale's sixteen statements, the score has steps of a half and says little about "
                "one annotator. The scale was made for all statements. Ask for consent, let people skip statements, "
                "and store the score separately from identities."
            ),
            source="Smith & Williams 2021, Tables 12 and 15; Ho et al. 2015",
            details="Annotators with equal scores are in the same third, that of their middle rank.",
            **_VIEWS,
        ),
        unit="points of the scale",
    ),
    MeasureInfo.of(
        Card(
            name="win_rate_by_third",
            summary="Win rate among the third of annotators with most, and least, support for equality, as "
            "published.",
            construct="Whether annotators with more support for equality prefer another model.",
            ideal="Equal win rates in both thirds.",
            direction="Neither model is the harmful one.",
            null="0.5. p is from a two-sided exact binomial test without correction. Whether the thirds differ is "
            "not tested.",
            critique=(
                "The measure cuts a coarse score into thirds and ignores a third of the judgements. Judgements by "
                "one annotator count as independent. Two thirds with different significance stars need not differ."
            ),
            source="Smith & Williams 2021, Table 15",
            **_VIEWS,
        ),
        unit="share",
        ideal=0.5,
    ),
    MeasureInfo.of(
        Card(
            name="win_rate_slope",
            summary="Increase of a win rate per point of the equality score; annotators are a random sample.",
            construct="Whether annotators with more support for equality prefer another model.",
            ideal="0: views and choices are unrelated.",
            direction="Neither model is the harmful one.",
            null="0. The slope is from a linear regression, with standard errors by covariances within annotators "
            "and items.",
            critique=(
                'A score from two statements is noisy, which shrinks the slope: "not detected" says little. A '
                "straight line may miss effects at the extremes. Views depend on age, education and much else."
            ),
            source="Henderson 1953 and Owen 2007 for crossed samples",
            details="In simulations of 20 to 160 annotators with 5 judgements each, 95% CIs cover the true value in "
            "94 to 96%.",
            **_VIEWS,
        ),
        unit="share per point",
        ideal=0.0,
    ),
)
