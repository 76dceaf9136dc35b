"""Overindexed words: ratios by hand, the prior against a plain computation, and words that are one name's."""

import math
from collections import Counter

import numpy as np
import polars as pl
import pytest

from evenhand.measures.names.overindexed import PRIOR, overindexed_words
from evenhand.measures.names.self_chats import name_counts
from evenhand.schema import DataError


def chats(said: dict[tuple[str, str], str]) -> pl.DataFrame:
    rows = [(name, gender, text) for (name, gender), text in said.items()]
    table = pl.DataFrame(rows, schema=["name", "gender", "text"], orient="row")
    return table.with_columns(conversation="name", speaker=pl.lit("B"), turn=2)


SAID = {
    ("Ann", "woman"): "hats , hats and cars ! ann ann ann",
    ("Eve", "woman"): "hats and tea",
    ("Bob", "man"): "cars and cars and 6 beers",
    ("Tom", "man"): "cars and hats",
}


def test_ratios_counts_and_names() -> None:
    table = overindexed_words(chats(SAID), shown=50)
    women = {row["word"]: row for row in table.filter(pl.col("group") == "woman").iter_rows(named=True)}
    # of 10 words of women and 9 of men; punctuation is none
    assert women["hats"]["ratio"] == pytest.approx((3 / 10) / ((3 / 10 + 1 / 9) / 2))
    assert women["ann"]["ratio"] == 2
    assert (women["ann"]["n_names"], women["ann"]["largest_name"], women["ann"]["largest_share"]) == (
        1,
        "Ann",
        100,
    )
    assert women["ann"]["rank"] == 1
    assert women["ann"]["lowest_rank"] > 1
    assert women["hats"]["n_names"] == 2
    assert "," not in women


def test_log_odds_are_those_of_the_formula() -> None:
    rng = np.random.default_rng(0)
    vocabulary = [f"w{i}" for i in range(30)]
    said = {
        (f"n{i}", "woman" if i % 2 else "man"): " ".join(
            rng.choice(vocabulary, 80, p=rng.dirichlet(np.ones(30)))
        )
        for i in range(8)
    }
    counts = {
        gender: Counter(word for (_, of), text in said.items() if of == gender for word in text.split())
        for gender in ("woman", "man")
    }
    everything = counts["woman"] + counts["man"]
    total = sum(everything.values())
    for row in overindexed_words(chats(said)).iter_rows(named=True):
        mine = counts[row["group"]]
        other = everything - mine
        prior = PRIOR * everything[row["word"]] / total
        y_i, y_j = mine[row["word"]] + prior, other[row["word"]] + prior
        n_i, n_j = sum(mine.values()) + PRIOR, sum(other.values()) + PRIOR
        delta = math.log(y_i / (n_i - y_i)) - math.log(y_j / (n_j - y_j))
        assert row["log_odds"] == pytest.approx(delta)
        assert row["z"] == pytest.approx(delta / math.sqrt(1 / y_i + 1 / y_j))


def test_names_that_all_say_the_same_have_no_words_of_their_own() -> None:
    said = dict.fromkeys(SAID, "hats and cars")
    assert overindexed_words(chats(said)).height == 0
    said["Ann", "woman"] = said["Eve", "woman"] = (
        "hats hats cars"  # of men one word stands out, of women two do
    )
    table = overindexed_words(chats(said))
    assert table["group"].dtype == pl.String and table.height


@pytest.mark.parametrize("silence", ["", "! ..."])
def test_a_group_that_says_no_word_is_named(silence: str) -> None:
    said = {key: silence if key[1] == "woman" else text for key, text in SAID.items()}
    with pytest.raises(DataError, match="conversations of gender woman contain no words"):
        overindexed_words(chats(said))


def test_a_column_of_token_counts_is_no_list_of_tokens() -> None:
    table = chats(SAID)
    plain = name_counts(table, "m", "gender")
    for column in (pl.lit(5), pl.lit("a b"), pl.lit([0.5])):
        assert name_counts(table.with_columns(tokens=column), "m", "gender").tokens == plain.tokens
    assert name_counts(table.with_columns(tokens=pl.lit([7, 7])), "m", "gender").tokens == ["7"]
