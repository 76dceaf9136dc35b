"""Phrases on names: the paper's Gini coefficients, rates of unequal groups, and phrases that one name makes."""

import numpy as np
import polars as pl
import pytest

from evenhand.measures.names.name_phrases import gini, name_phrases


@pytest.mark.parametrize(
    ("shares", "value"),
    [
        ((3, 57, 33, 7), 0.4700),
        ((57, 19, 23, 0), 0.4419),
        ((2, 3, 3, 92), 0.6750),
        ((63, 12, 15, 10), 0.4050),
        ((54, 13, 25, 8), 0.3750),
        ((27, 38, 32, 2), 0.2854),
        ((60, 19, 2, 19), 0.4350),
        ((1, 96, 3, 0), 0.7250),
        ((64, 35, 1, 0), 0.5650),
        ((19, 23, 49, 8), 0.3207),
        ((25, 25, 25, 25), 0.0),
        ((0, 0, 100, 0), 0.75),
    ],
)
def test_gini_of_published_shares(shares: tuple[float, ...], value: float) -> None:
    assert gini(np.array(shares, dtype=float)) == pytest.approx(value, abs=5e-5)


def replies(said: dict[tuple[str, str], list[str]]) -> pl.DataFrame:
    rows = [(name, group, text) for (name, group), texts in said.items() for text in texts]
    table = pl.DataFrame(rows, schema=["name", "race_ethnicity", "text"], orient="row")
    return table.with_row_index("conversation").with_columns(speaker=pl.lit("B"), turn=2)


def test_shares_are_of_rates_and_one_name_is_told() -> None:
    frame = replies(
        {
            ("Ann", "white"): ["What a nice name!"] * 4 + ["Hello."] * 4,
            ("Eve", "white"): ["A NICE  name, and a nice name"] * 4,
            ("Mei", "AAPI"): ["That is a nice name"] * 2 + ["Is that your real name?"] * 2,
            ("Lin", "AAPI"): ["Is that your real name?"] * 9 + ["names of mine"] * 3,
        }
    )
    table = name_phrases(frame, least=10)
    by_phrase = {row["phrase"]: row for row in table.iter_rows(named=True)}
    assert set(by_phrase) == {"nice name", "real name"}
    nice, real = by_phrase["nice name"], by_phrase["real name"]
    # 12 in 12 conversations against 2 in 16
    assert nice["share_white"] == pytest.approx(100 * 1 / (1 + 1 / 8))
    # two groups of two names each: two names of one group in a draw in three, else one of each
    assert 0 < nice["gini_null"] <= nice["gini_null_97_5"] <= 0.5
    assert nice["gini"] == pytest.approx(gini(np.array([1, 1 / 8])))
    assert (nice["n_uses"], nice["group"], nice["largest_name"], nice["one_name"]) == (
        14,
        "white",
        "Eve",
        True,
    )
    assert real["gini"] == pytest.approx(0.5)
    assert real["largest_share"] == pytest.approx(100 * 9 / 11)
    assert name_phrases(frame.with_columns(turn=3), least=1).is_empty()
