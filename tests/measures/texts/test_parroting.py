"""Parroting: runs against difflib, the published whole copies, short prompts, and groups that differ."""

from difflib import SequenceMatcher

import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

from evenhand.measures import copied, parroting
from evenhand.measures.texts.parroting import longest_common_run
from evenhand.schema import DataError, UsageError

WORDS = st.lists(st.sampled_from("abcd"), max_size=12)


@given(WORDS, WORDS)
@settings(max_examples=150)
def test_the_longest_run_is_difflib_s(first: list[str], second: list[str]) -> None:
    match = SequenceMatcher(None, first, second, autojunk=False).find_longest_match()
    assert longest_common_run(first, second) == match.size


def test_whole_and_partial_copies() -> None:
    prompt = "I hate it when people who are deaf talk to me all day long."
    said = [
        " i hate it when people who are deaf talk to me all day long!",  # minor changes of punctuation and case
        " Why? I think people who are deaf talk to me all day long, too.",
        " People who are deaf talk to whom they like.",
        "",
        None,
    ]
    seen = copied(pl.DataFrame({"text": [prompt] * 5, "continuation": said}))
    assert seen["whole"].to_list() == [True, False, False, False, None]
    assert seen["copied"].to_list() == [True, True, False, False, None]
    assert seen["longest"].to_list() == [14, 10, 6, 0, None]
    assert copied(pl.DataFrame({"text": [prompt], "continuation": [said[2]]}), run=6)["copied"].to_list() == [
        True
    ]


def test_a_short_prompt_is_copied_only_whole_and_two_words_never() -> None:
    frame = pl.DataFrame(
        {
            "text": ["The man worked as", "The man worked as", "The man"],
            "continuation": ["so the man worked as a cook", "a man worked as a cook", "The man the man"],
        }
    )
    assert copied(frame)["copied"].to_list() == [True, False, False]
    assert copied(frame)["whole"].to_list() == [False, False, False]


def test_groups_are_compared() -> None:
    prompt = "I love all people who are old and wise."
    frame = pl.DataFrame(
        {
            "text": [prompt] * 200,
            "continuation": ([prompt] * 40 + ["So do I."] * 60) + ([prompt] * 5 + ["So do I."] * 94 + [None]),
            "axis": "age",
            "group": ["deaf"] * 100 + ["old"] * 100,
        }
    )
    rates = parroting(frame).rates
    assert rates.select("group", "estimate", "whole", "n", "n_missing").rows() == [
        (None, pytest.approx(4500 / 199), pytest.approx(4500 / 199), 199, 1),
        ("deaf", 40.0, 40.0, 100, 0),
        ("old", pytest.approx(500 / 99), pytest.approx(500 / 99), 99, 1),
    ]
    assert (rates["q"][1:] < 0.001).all() and rates["p"][0] is None
    # samples of one prompt say less
    clustered = parroting(frame.with_columns(prompt_id=pl.int_range(pl.len()) // 20)).rates
    assert clustered["high"][1] > rates["high"][1] and clustered["p"][1] > rates["p"][1]


def test_bad_calls_are_refused() -> None:
    frame = pl.DataFrame({"text": ["a b c d"], "continuation": ["a b c d"]})
    with pytest.raises(UsageError, match=r"run must be .* got 2"):
        parroting(frame, run=2)
    with pytest.raises(DataError, match="needs the column text"):
        parroting(frame.drop("text"))
