"""Views on equality: the scores by hand, the published distributions, thirds, and whether they sway a choice."""

import numpy as np
import polars as pl
import pytest
from scipy.stats import binomtest

from evenhand.measures import sdo_scores, statement_ratings, win_rates_by_views
from evenhand.schema import DataError
from tests.measures.people.laid_out import pair, table

# Smith & Williams 2021, Table 12: percent of ratings 1 to 7 and the mean printed of all; first eight for equality
TABLE_12 = [
    ("1 2 2 9 16 25 46", 6.0),
    ("4 2 2 8 11 26 50", 5.9),
    ("0 2 3 15 14 22 44", 5.8),
    ("1 2 2 10 19 27 40", 5.8),
    ("3 3 2 10 16 27 38", 5.7),
    ("4 6 3 11 14 21 41", 5.5),
    ("3 8 7 14 15 18 35", 5.2),
    ("14 5 3 14 10 26 27", 4.9),
    ("22 11 8 16 11 15 16", 3.9),
    ("27 16 5 17 10 12 13", 3.5),
    ("28 13 13 18 14 8 7", 3.3),
    ("29 16 10 19 7 14 4", 3.2),
    ("37 14 7 10 10 10 11", 3.2),
    ("37 19 8 12 10 7 6", 2.8),
    ("40 12 11 13 13 5 5", 2.8),
    ("46 11 7 11 12 7 7", 2.8),
]
SIGNS = {f"s{n}": 1 if n < 8 else -1 for n in range(16)}


def rate(person: str, statement: str, value: float | None, **said: object) -> dict[str, object]:
    return {
        **{"role": "survey", "person": person, "question": statement, "measurement": "ordinal"},
        "answer": None if value is None else f"{value:g}",
        "value": value,
        **said,
    }


def published() -> pl.DataFrame:
    """Ratings with the frequencies printed, a hundred persons for each statement."""
    rows = []
    for n, (percents, _) in enumerate(TABLE_12):
        ratings = np.repeat(np.arange(1, 8), [int(each) for each in percents.split()])
        rows += [rate(f"s{n}-{person}", f"s{n}", float(value)) for person, value in enumerate(ratings)]
    return table(rows)


def test_the_published_distributions_have_the_published_means() -> None:
    found = statement_ratings(published(), SIGNS)
    printed = [mean for _, mean in TABLE_12]
    # seven whole percents and a mean of one decimal: rounding alone may take them 0.11 apart
    apart = np.abs(found["estimate"].to_numpy() - printed)
    assert (apart <= 0.07).all() and (apart <= 0.05).sum() >= 14
    assert ((found["low"] < found["estimate"]) & (found["estimate"] < found["high"])).all()
    assert found["share_7"][0] == pytest.approx(46 / 101) and found["sign"].to_list() == list(SIGNS.values())


def test_scores_of_the_published_ratings_average_to_what_the_means_say() -> None:
    scores = sdo_scores(published(), SIGNS)
    counted = statement_ratings(published(), SIGNS)
    expected = np.average((counted["estimate"] - 4) * counted["sign"], weights=counted["n"])
    assert scores["score"].mean() == pytest.approx(expected)
    # 5.6 for equality, 3.2 against it, so well over 0
    assert 1.0 < expected < 1.4 and scores["score"].min() == -3 and scores["score"].max() == 3


def test_two_statements_of_each_kind() -> None:
    votes = table(
        [
            rate("a", "s0", 7),
            rate("a", "s8", 1),
            rate("b", "s1", 4),
            rate("b", "s9", 7),
            rate("c", "s2", 2),
            rate("d", "s0", None),
            rate("e", "s0", 7, excluded="speed"),
            rate("f", "mood", 7),
        ]
    )
    found = sdo_scores(votes, SIGNS)
    assert found.select("person", "score", "n").rows() == [("a", 3.0, 2), ("b", -1.5, 2), ("c", -2.0, 1)]
    assert found["third"].to_list() == ["top", "middle", "bottom"]


def test_equal_scores_are_in_one_third() -> None:
    values = [1, 4, 4, 4, 4, 4, 7, 7, 7]
    found = sdo_scores(table(rate(f"p{n}", "s0", value) for n, value in enumerate(values)), SIGNS)
    assert found["third"].to_list() == ["bottom", *["middle"] * 5, *["top"] * 3]
    alike = sdo_scores(table(rate(f"p{n}", "s0", 5) for n in range(9)), SIGNS)
    assert alike["third"].unique().to_list() == ["middle"]
    distinct = sdo_scores(table(rate(f"p{n:02}", "s0", 1 + n / 2) for n in range(12)), SIGNS)
    assert distinct["third"].to_list() == ["bottom"] * 4 + ["middle"] * 4 + ["top"] * 4


def judged(slope: float, seed: int = 0, persons: int = 90) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    rows: list[dict[str, object]] = []
    items = [rng.permutation(persons * 5 // 2) for _ in range(2)]
    item = np.concatenate(items).reshape(persons, 5)
    for person in range(persons):
        ratings = rng.integers(1, 8, 2)
        rows += [rate(f"p{person}", f"s{n}", float(value)) for n, value in enumerate(ratings)]
        own = rng.normal(0, 0.7) + slope * (ratings.mean() - 4)
        for each in item[person]:
            rows.append(pair(person, int(each), "b" if rng.random() < 1 / (1 + np.exp(-own)) else "a"))
    return table(rows)


def test_views_that_sway_the_choice_are_found_and_others_are_not() -> None:
    swayed, same = (win_rates_by_views(judged(slope), SIGNS) for slope in (0.6, 0.0))
    of = pl.col("measure") == "win_rate_slope"
    assert swayed.filter(of)["verdict"][0] == "rises" and swayed.filter(of)["estimate"][0] > 0.05
    assert same.filter(of)["verdict"][0] == "not detected"
    thirds = swayed.filter(~of)
    assert (
        thirds["third"].to_list() == ["top", "bottom"] and thirds["estimate"][0] > thirds["estimate"][1] + 0.2
    )


def test_thirds_are_the_papers_by_hand() -> None:
    votes = judged(0.3, 1)
    scores = sdo_scores(votes, SIGNS)
    top = set(scores.filter(pl.col("third") == "top")["person"])
    part = votes.filter((pl.col("role") == "real") & pl.col("person").is_in(list(top)))
    wins = int((part["answer"] == "b").sum())
    row = win_rates_by_views(votes, SIGNS).filter(pl.col("third") == "top").row(0, named=True)
    assert (row["n"], row["estimate"]) == (part.height, wins / part.height)
    assert row["p"] == pytest.approx(binomtest(wins, part.height).pvalue)


def test_persons_without_a_score_are_missing() -> None:
    votes = judged(0.0)
    silent = votes.filter((pl.col("role") == "real") | (pl.col("person") != "p3"))
    row = win_rates_by_views(silent, SIGNS).filter(pl.col("measure") == "win_rate_slope").row(0, named=True)
    assert (row["n"], row["n_missing"]) == (445, 5)


def test_what_is_no_survey() -> None:
    with pytest.raises(DataError, match="no annotator rated any of the 16"):
        sdo_scores(table([pair(1, 1, "a")]), SIGNS)
    with pytest.raises(DataError, match="signs must contain 1 or -1"):
        sdo_scores(judged(0.0), {"s0": 2})
    alike = table(
        [*(rate(f"p{n}", "s0", 4) for n in range(30)), *(pair(n % 30, n // 2, "a") for n in range(90))]
    )
    row = win_rates_by_views(alike, SIGNS).filter(pl.col("measure") == "win_rate_slope").row(0, named=True)
    assert row["verdict"] == "not measurable" and row["obstacle"] == "All persons have the same score."


def test_ratings_that_are_texts_are_refused():
    votes = published().with_columns(pl.col("value").cast(pl.String) + " of 7")
    with pytest.raises(DataError, match="ratings must be numbers"):
        sdo_scores(votes, SIGNS)
