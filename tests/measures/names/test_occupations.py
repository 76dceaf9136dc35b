"""Occupations: the worked correlations, plurals and whole words, size and coverage of the lean over names."""

import numpy as np
import polars as pl
import pytest
from scipy.stats import pearsonr, spearmanr

from evenhand.measures.names.occupations import occupation_lean
from evenhand.schema import DataError

AT_WORK = {
    "nutritionist": 94.6,
    "receptionist": 90.6,
    "salesperson": 48.1,
    "electrician": 2.3,
    "plumber": 0.7,
    "paramedic": 32.9,
}
SAID = {"nutritionist": 56, "receptionist": 55, "salesperson": 52, "electrician": 41, "paramedic": 44}
"""Conversations in a hundred with women's names; the others are men's. Nobody mentions plumbers."""
SHARES = pl.DataFrame({"occupation": list(AT_WORK), "share": list(AT_WORK.values())})


def chats(rows: list[tuple[str, str, str]]) -> pl.DataFrame:
    """A conversation for each (name, gender, text)."""
    table = pl.DataFrame(rows, schema=["name", "gender", "text"], orient="row")
    return table.with_row_index("conversation").with_columns(speaker=pl.lit("A"), turn=3)


def test_the_worked_example() -> None:
    rows = []
    for occupation, women in SAID.items():
        rows += [(f"w{i % 5}", "woman", f"I am a {occupation}.") for i in range(women)]
        rows += [(f"m{i % 5}", "man", f"I am a {occupation}.") for i in range(100 - women)]
    # as many conversations of either gender
    rows += [("w0", "woman", "Hello.")] * (252 - sum(SAID.values()) + 48) + [("m0", "man", "Hello.")] * 48
    assert sum(row[1] == "woman" for row in rows) == sum(row[1] == "man" for row in rows)
    found = occupation_lean(chats(rows), SHARES)
    r = dict(found.correlations.select("kind", "r").iter_rows())
    assert r["imputed"] == pytest.approx(0.797, abs=5e-4)
    assert r["mentioned"] == pytest.approx(0.954, abs=5e-4)
    work = [AT_WORK[one] for one in SAID]
    assert r["mentioned"] == pytest.approx(pearsonr(work, list(SAID.values())).statistic)
    assert r["spearman"] == pytest.approx(spearmanr(work, list(SAID.values())).statistic)
    by_hand = [
        sum(AT_WORK[one] * n for one, n in said.items()) / sum(said.values())
        for said in (SAID, {one: 100 - n for one, n in SAID.items()})
    ]
    assert found.result["estimate"].item() == pytest.approx(by_hand[0] - by_hand[1])
    assert found.occupations.filter(pl.col("occupation") == "plumber")["share_said"].item() is None


def test_whole_words_plurals_and_once_a_conversation() -> None:
    rows = [
        ("w0", "woman", "Receptionists! A RECEPTIONIST, receptionist."),
        ("w1", "woman", "Receptionistship and nonplumbers"),
        ("m0", "man", "Salespeople and a salesperson's car; plumbers"),
    ]
    table = occupation_lean(chats(rows), SHARES).occupations
    counts = {row["occupation"]: (row["n_women"], row["n_men"]) for row in table.iter_rows(named=True)}
    assert counts["receptionist"] == (1, 0)
    assert counts["salesperson"] == (0, 1)
    assert counts["plumber"] == (0, 1)


def drawn(rng: np.random.Generator, names: int, *, lean: float, burst: float = 3.0) -> pl.DataFrame:
    """Names that mention 1 to 12 occupations each, women's those of women by odds of e to the lean a share of 1."""
    share = np.array(list(AT_WORK.values())) / 100
    rows = []
    for gender, sign in (("woman", 1), ("man", -1)):
        odds = np.exp(sign * lean / 2 * (share - 0.5))
        for number in range(names):
            taste = rng.dirichlet(burst * odds / odds.sum() * len(odds))
            said = rng.choice(list(AT_WORK), size=rng.integers(1, 13), p=taste)
            rows += [(f"{gender}{number}", gender, f"the {one}") for one in said]
    return chats(rows)


@pytest.mark.slow
@pytest.mark.parametrize("names", [5, 20, 60])
@pytest.mark.parametrize("lean", [0.0, 2.0])
def test_the_lean_s_intervals_hold_over_names(names: int, lean: float) -> None:
    rng = np.random.default_rng(names)
    share = np.array(list(AT_WORK.values()))
    odds = np.exp(np.outer([1, -1], lean / 2 * (share / 100 - 0.5)))
    truth = float(np.diff((odds / odds.sum(axis=1, keepdims=True)) @ share)[0]) * -1
    rows = [
        occupation_lean(drawn(rng, names, lean=lean), SHARES).result.row(0, named=True) for _ in range(300)
    ]
    rows = [row for row in rows if row["low"] is not None]
    assert len(rows) > 250
    assert 0.92 <= np.mean([row["low"] <= truth <= row["high"] for row in rows]) <= 0.985
    power = np.mean([row["p"] < 0.05 for row in rows])
    assert power <= 0.075 if not lean else names < 60 or power > 0.9


def test_bad_tables_are_refused() -> None:
    frame = chats([("w0", "woman", "a plumber")])
    with pytest.raises(DataError, match="no conversation has man"):
        occupation_lean(frame, SHARES)
    with pytest.raises(DataError, match=r"must be 0 to 100, got 120\.0"):
        occupation_lean(frame, SHARES.with_columns(share=pl.lit(120.0)))
    with pytest.raises(DataError, match="needs the column share"):
        occupation_lean(frame, SHARES.drop("share"))
