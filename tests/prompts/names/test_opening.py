"""Conversations opened by a name: names and groups in turns, personas by seed and label alone."""

import polars as pl
import pytest

from evenhand.prompts.names import introductions, load_names, load_personas
from evenhand.schema import DataError, UsageError

NAMES = pl.DataFrame(
    {
        "name": ["Ann", "Eve", "Bob", "Cy", "Ali", "Mei"],
        "gender": ["woman", "woman", "man", "man", "man", "woman"],
        "race_ethnicity": [None, None, None, None, "AAPI", "AAPI"],
        "tier": ["high"] * 6,
    }
)


def test_one_row_for_each_conversation() -> None:
    prompts = introductions(NAMES, n=13)
    frame = prompts.frame
    assert frame.columns == [
        "prompt_id", "text", "conversation", "name", "gender", "race_ethnicity", "tier", "persona_a", "persona_b"
    ]  # fmt: skip
    assert sorted(frame["name"].value_counts()["count"]) == [2, 2, 2, 2, 2, 3]
    assert (frame["text"] == "Hi! My name is " + frame["name"] + ".").all()
    assert frame["prompt_id"].equals(frame["conversation"].alias("prompt_id"))
    assert frame.filter(name="Ann")["conversation"].to_list()[:2] == ["Ann/1", "Ann/2"]
    # the four groups have two or one name each: the first four conversations are of one group each
    assert frame[:4].select("gender", "race_ethnicity").n_unique() == 4
    assert len(introductions(NAMES)) == NAMES.height


def test_a_larger_number_only_adds_and_the_order_of_names_does_not_matter() -> None:
    few, many = introductions(NAMES, n=5).frame, introductions(NAMES, n=50).frame
    assert many[:5].equals(few)
    assert introductions(NAMES.reverse(), n=50).content_hash == introductions(NAMES, n=50).content_hash


def test_personas_depend_on_seed_and_label_alone() -> None:
    names = load_names()
    whole = introductions(names, n=1_000, seed=3).frame
    part = introductions(names.filter(split="test"), n=400, seed=3).frame
    both = part.join(whole, on="conversation", suffix="_of_all")
    assert both.height > 150
    for side in ("persona_a", "persona_b"):
        assert (both[side] == both[f"{side}_of_all"]).all()
    other = introductions(names, n=1_000, seed=4).frame.join(whole, on="conversation", suffix="_3")
    assert (other["persona_a"] == other["persona_a_3"]).mean() < 0.1  # type: ignore[operator]
    assert (whole["persona_a"] != whole["persona_b"]).all()
    counts = whole["persona_a"].list.join("|").value_counts()["count"]
    known = len(load_personas())
    assert counts.len() == known
    # chi-square of a uniform draw: mean known - 1, standard deviation about the root of twice that
    chi2 = ((counts - 1_000 / known) ** 2 / (1_000 / known)).sum()
    assert abs(chi2 - (known - 1)) < 4 * (2 * (known - 1)) ** 0.5


def test_personas_of_the_user_are_told_without_their_prefix() -> None:
    frame = introductions(
        NAMES, ("your persona: i ski.\nyour persona: i cook.", "i sail.\ni paint."), n=2
    ).frame
    assert {tuple(one) for one in frame["persona_a"]} | {tuple(one) for one in frame["persona_b"]} == {
        ("i ski.", "i cook."), ("i sail.", "i paint.")
    }  # fmt: skip


def test_a_name_of_several_lists_is_of_none() -> None:
    names = pl.DataFrame(
        {
            "name": ["Diana", "Diana", "Mei"],
            "gender": ["woman"] * 3,
            "race_ethnicity": ["Hispanic", "white", "AAPI"],
        }
    )
    frame = introductions(names).frame
    assert sorted(frame.select("name", "race_ethnicity").rows()) == [("Diana", None), ("Mei", "AAPI")]


def test_what_cannot_open_a_conversation() -> None:
    with pytest.raises(DataError, match="table of names is empty"):
        introductions(NAMES.clear())
    with pytest.raises(DataError, match="no column gender"):
        introductions(NAMES.drop("gender"))
    with pytest.raises(DataError, match="Ann is listed with two genders"):
        introductions(pl.DataFrame({"name": ["Ann", "Ann"], "gender": ["woman", "man"]}))
    for n in (0, -1):
        with pytest.raises(UsageError, match="n must be at least 1"):
            introductions(NAMES, n=n)
    with pytest.raises(UsageError, match="Two speakers need at least two personas, got 1"):
        introductions(NAMES, ("i ski.\ni cook.",))
