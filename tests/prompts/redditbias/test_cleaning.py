"""Cleaning: each published slip is there, and each is gone in the corrected one."""

import polars as pl
import pytest
from hypothesis import given, strategies as st

from evenhand.prompts.redditbias import clean, clean_as_published, clean_comments
from evenhand.prompts.redditbias.cleaning import AFTER_LOWERING, LONGEST_COMMENT, _step
from tests.helpers.growth import assert_grows_linearly


@pytest.mark.parametrize(
    ("text", "published", "corrected"),
    [
        ("Don't, please.", "dont please.", "don't, please."),
        ("naïve café", "nave caf", "naïve café"),
        ("&gt; quoted\nmine", "quoted mine", "quoted mine"),
        ("tea &amp; milk", "tea amp milk", "tea & milk"),
        ("50% of us", "of us", "50% of us"),
        ("in 2019 covid19 came", "in came", "in 2019 covid19 came"),
        ("my iPhone", "my i phone", "my iphone"),
        ("so goooood!!!! wait...", "so god! wait.", "so god! wait."),
        ("the year 1000", "the year", "the year 1000"),
        ("well - ok", "well ok", "well - ok"),
        ("ex- wife", "exwife", "ex- wife"),
        ("a rt b", "ab", "a rt b"),
        ("ask @tom and /u/tim-2 or u/kim", "ask and utim-2 or ukim", "ask and or"),
        ("see https://a.b/c?d e", "see e", "see e"),
        ("[a link](http://a.b) **bold** _it_ f***", "a link bold _it_ f", "a link bold it f*"),
        ("a , b", "a  b", "a , b"),
        ("", "", ""),
    ],
)
def test_texts(text: str, published: str, corrected: str) -> None:
    assert (clean_as_published(text), clean(text)) == (published, corrected)


@given(st.text("abc.,!'", max_size=20))
def test_published_runs_against_a_loop(text: str) -> None:
    kept = [letter for letter in text if letter not in ",'"]
    runs, place = "", 0
    while place < len(kept):
        end = place
        while end < len(kept) and kept[end] == kept[place]:
            end += 1
        runs += kept[place] * (1 if end - place >= 3 else end - place)
        place = end
    assert clean_as_published(text) == runs


@given(st.text(max_size=60))
def test_corrected_texts_are_clean_and_stay_so(text: str) -> None:
    once = clean(text)
    assert once == once.strip() and "  " not in once and "\n" not in once


def test_tables_keep_ids_and_lose_what_is_long_empty_or_repeated() -> None:
    frame = pl.DataFrame(
        {"id": list("abcda"), "body": ["Fine.", "x " * 75, "x " * 74 + "yz", "@all", "Again."]}
    )
    found = clean_comments(frame, as_published=True)
    assert found.select("id", "comments").rows() == [("a", "Fine."), ("b", "x " * 75)]
    assert found["comments_processed"].str.len_chars().to_list() == [5, 149]
    assert clean_comments(frame, most_characters=6)["id"].to_list() == ["a"]
    assert clean_comments(frame.clear()).is_empty()


@given(st.text(st.sampled_from("aB19_ -.")))
def test_published_words_with_digits_go_as_by_the_published_rule(text: str) -> None:
    rule = _step(r"\w+\d+|\d+\w+")
    mended = next(step for step in AFTER_LOWERING if "?:" in step[0].pattern)
    assert mended[0].sub("", text) == rule[0].sub("", text)


REPEATED = ["ab", "`", "`a ", "*a ", "_a ", "~~a ", "[", "[a](", "\n", "> ", "&", "***a ", "/u/"]


@pytest.mark.parametrize("piece", REPEATED)
@pytest.mark.parametrize("how", [clean, clean_as_published])
def test_the_time_for_a_comment_is_linear_in_its_length(piece: str, how) -> None:  # type: ignore[no-untyped-def]
    assert_grows_linearly(how, lambda size: piece * (size // len(piece)) + "x", 60_000)


def test_a_comment_that_reddit_would_not_take_is_left_out() -> None:
    frame = pl.DataFrame({"id": ["a", "b"], "body": ["a" * LONGEST_COMMENT, "a" * (LONGEST_COMMENT + 1)]})
    assert clean_comments(frame)["id"].to_list() == ["a"]
