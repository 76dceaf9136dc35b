"""Assign items to simulated annotators, draw response times and compute expected vote shares."""

from collections import deque
from datetime import UTC, datetime

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evenhand.schema import VOTES, UsageError

START = datetime(2026, 1, 5, 9, tzinfo=UTC)
"""Arrival time of the first simulated annotator; any fixed time works."""
Draws = np.random.Generator


def marginal_rate(logit: float, sd: float = 0.0, *, side: float = 0.0, spammers: float = 0.0) -> float:
    """Return the expected share of votes for a, given a planted preference.

    `logit` is that of choosing a, for the median annotator and item, and `sd` the combined SD of annotator and item
    effects. `side` is added to the logit if a is on the left, and subtracted if it is on the right. `spammers` is the
    share of random votes. The result is the mean of the logistic function over a normal distribution.

    >>> round(marginal_rate(0.5), 4), round(marginal_rate(0.5, 2.0), 4)
    (0.6225, 0.5752)
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    at = np.add.outer([logit + side, logit - side], sd * nodes)
    mean = float((logistic(at) @ weights).mean() / weights.sum())
    return (1 - spammers) * mean + spammers / 2


def logistic(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 / (1 + exp(-x)), without overflow."""
    return np.asarray((1 + np.tanh(x / 2)) / 2)


def allocate_votes(
    persons: int, items_per_person: int, votes_per_item: int, rng: Draws
) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Return the annotator and item of each vote, in the order seen, and the number of items.

    Each item goes to `votes_per_item` different annotators, and no annotator gets an item twice. Each round of votes
    has a random order of items. If the numbers do not divide evenly, some items have one vote less.
    """
    if min(persons, items_per_person, votes_per_item) < 1 or votes_per_item > persons:
        raise UsageError(
            "persons, items_per_person and votes_per_item must be at least 1, and votes_per_item at most "
            f"persons, got persons={persons}, items_per_person={items_per_person}, "
            f"votes_per_item={votes_per_item}."
        )
    items = max(-(-persons * items_per_person // votes_per_item), items_per_person)
    queue = deque(int(item) for _ in range(votes_per_item) for item in rng.permutation(items))
    who: list[int] = []
    what: list[int] = []
    for person in range(persons):
        mine: set[int] = set()
        aside: list[int] = []
        while queue and len(mine) < items_per_person:
            item = queue.popleft()
            if item in mine:
                aside.append(item)
                continue
            mine.add(item)
            who.append(person)
            what.append(item)
        queue.extendleft(reversed(aside))
    return np.array(who), np.array(what), items


def is_spammer(persons: int, share: float, rng: Draws) -> NDArray[np.bool_]:
    """Return which annotators answer at random: exactly the requested share, rounded."""
    chosen = np.zeros(persons, dtype=bool)
    chosen[rng.permutation(persons)[: round(share * persons)]] = True
    return chosen


def attitudes(persons: int, seed: int) -> NDArray[np.float64]:
    """Return the attitude of each annotator on a scale: standard normal, independent of other draws with the seed."""
    return np.random.default_rng([seed, 5]).standard_normal(persons)


def complete_votes(columns: pl.DataFrame, seconds: float, study: str, rng: Draws) -> pl.DataFrame:
    """Return VOTES from the known columns: sorted by annotator and position, with times; other columns are null.

    columns: include `who` (number of the annotator), `spams` and `order`. seconds: median time of an attentive answer.
    """
    frame = columns.sort("who", "order", maintain_order=True)
    median = np.where(frame["spams"].to_numpy(), seconds / 10, seconds)
    took = pl.Series("seconds", np.round(median * np.exp(0.4 * rng.standard_normal(frame.height)), 3))
    person = pl.format("p{}", pl.col("who").cast(pl.String).str.zfill(5))
    since = pl.col("seconds").cum_sum().over("who") + 3600.0 * (pl.col("who") % 200)
    frame = (
        frame.with_columns(took, person=person, study=pl.lit(study))
        .with_columns(
            unit=pl.format("{}-1", "person"),
            # positions of onboarding items are counted separately, as in the application
            position=pl.int_range(pl.len()).over("who", pl.col("role") == "onboarding"),
            answered_at=pl.lit(START) + pl.duration(microseconds=(since * 1e6).cast(pl.Int64)),
        )
        .with_columns(
            presentation=pl.format("{}-{}-{}", "person", pl.col("role").str.slice(0, 1), "position"),
            shown_at=pl.col("answered_at")
            - pl.duration(microseconds=(pl.col("seconds") * 1e6).cast(pl.Int64)),
        )
    )
    absent = [pl.lit(None, kind).alias(name) for name, kind in VOTES.items() if name not in frame.columns]
    return frame.with_columns(absent).select(pl.col(name).cast(kind) for name, kind in VOTES.items())
