"""Simulated ratings of a scale's statements by the annotators of `simulated_votes`, from their attitudes."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from evenhand.annotation.definition import SDO7, Statement
from evenhand.annotation.simulating.allocation import attitudes, complete_votes


def simulated_survey(
    *,
    persons: int = 100,
    draw: int | None = 2,
    statements: Sequence[Statement] = SDO7,
    low: int = 1,
    high: int = 7,
    loading: float = 1.0,
    noise: float = 1.0,
    skipped: float = 0.0,
    study: str = "simulated",
    seed: int = 0,
) -> pl.DataFrame:
    """Simulate ratings of survey statements, as rows of an export (VOTES). Append them to `simulated_votes` of the same
    seed.

    Parameters
    ----------
    persons : int
        Number of people, the first of those in that call.
    draw : int, optional
        Number of sampled statements per person. None: all.
    loading, noise : float
        A rating is the middle of the scale + loading x attitude (minus for reversed statements) + noise with this SD.
        It is rounded and kept between low and high.
    skipped : float
        Share of skipped ratings.

    >>> rows = simulated_survey(persons=50, draw=2)
    >>> rows.height, rows["value"].is_between(1, 7).all()
    (100, True)
    """
    rng = np.random.default_rng([seed, 6])
    drawn = len(statements) if draw is None else draw
    which = rng.random((persons, len(statements))).argsort(axis=1)[:, :drawn].ravel()
    who = np.repeat(np.arange(persons), drawn)
    sign = np.array([-1.0 if statement.reversed else 1.0 for statement in statements])
    felt = (low + high) / 2 + loading * sign[which] * attitudes(persons, seed)[who]
    rating = np.clip(np.floor(felt + noise * rng.standard_normal(len(who)) + 0.5), low, high)
    given = rng.random(len(who)) >= skipped
    rows = pl.DataFrame(
        {
            "who": who,
            "role": "survey",
            "question": [statements[int(place)].id for place in which],
            "value": rating,
            "given": given,
            "spams": False,
            "order": np.tile(np.arange(drawn), persons) / drawn,
            "measurement": "interval",
        }
    ).with_columns(value=pl.when("given").then("value"))
    answer = pl.col("value").cast(pl.Int64).cast(pl.String)
    return complete_votes(rows.with_columns(answer=answer), 5.0, study, rng)
