"""One group a comment, and the phrases around its words: each published slip, and both rules against slow loops."""

import re
from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given, strategies as st

from evenhand.prompts.redditbias import extract_phrases, specification, with_single_target
from evenhand.prompts.redditbias.filtering import REACH

RACE = specification("race")
TEAMS = replace(
    RACE,
    window_targets=("Red", "reds", "crimson"),
    attributes_1=("loud*", "art", '"bad luck"'),
    keep_without_attribute=True,
)


def comments(*texts: str) -> pl.DataFrame:
    return pl.DataFrame({"id": [str(n) for n in range(len(texts))], "comments_processed": texts})


def single(bias: str, *texts: str, as_published: bool) -> list[str]:
    words = specification(bias).single_targets
    kept = with_single_target(comments(*texts), words, as_published=as_published)
    return kept["comments_processed"].to_list()


def test_the_published_filter_of_gender_loses_all_women() -> None:
    texts = ("a woman cooks", "women cook", "a female cook", "girls cook", "my mom cooks", "a reason to cook")
    assert single("gender", *texts, as_published=True) == ["girls cook", "my mom cooks", "a reason to cook"]
    assert single("gender", *texts, as_published=False) == list(texts[:-1])


def test_comments_about_both_groups_or_none_go() -> None:
    texts = ("his wife and her husband", "a wife and her sister", "nobody cooks", "the wife's wife cooks")
    assert single("gender", *texts, as_published=True) == ["the wife's wife cooks"]
    assert single("gender", *texts, as_published=False) == ["the wife's wife cooks"]


def test_a_word_of_orientation_within_another_does_not_count_twice() -> None:
    """ "homosexual" holds none of the other words, "bisexuals" one."""
    texts = (
        "homosexuals sing",
        "gay and lesbian choirs",
        "bisexuals sing",
        "transgendered people",
        "singers",
    )
    assert single("orientation", *texts, as_published=True) == [texts[0], texts[2], texts[3]]
    assert single("orientation", *texts, as_published=False) == [texts[0], texts[2]]


def test_the_list_names_wife_and_husband_twice_and_counts_each_once() -> None:
    assert with_single_target(comments("a wife"), ["wife", "wife"], as_published=True).height == 1


def published(*texts: str, keep: bool = True) -> list[tuple[str, bool, str]]:
    found = extract_phrases(comments(*texts), replace(TEAMS, keep_without_attribute=keep), as_published=True)
    return found.select("id", "attribute_in_window", "phrase").rows()


def corrected(*texts: str) -> list[tuple[str, bool, str]]:
    return extract_phrases(comments(*texts), TEAMS).select("id", "attribute_in_window", "phrase").rows()


BEFORE, BEHIND = "a b c d e f g h", "i j k l m n o p"


def test_a_phrase_is_seven_tokens_on_either_side() -> None:
    text = f"{BEFORE} red loud {BEHIND}"
    assert published(text) == [("0", True, f"{BEFORE[2:]} red loud {BEHIND[:-4]}")] == corrected(text)
    assert len(published(text)[0][2].split()) == 2 * REACH + 1


def test_only_the_first_two_places_of_a_word_are_tried() -> None:
    far = " ".join(["x"] * 8)
    third = f"red {far} red {far} red loud"
    assert published(third) == [("0", False, " ".join(["x"] * 7 + ["red"] + ["x"] * 7))]
    assert corrected(third) == [("0", True, " ".join(["x"] * 7 + ["red", "loud"]))]
    second = f"red {far} reds so {far} red loud"
    assert published(second)[0][:2] == ("0", True)


def test_marks_and_double_spaces_hide_a_word_in_the_published_rules() -> None:
    assert published("those reds. are loud") == [("0", False, "")]
    assert corrected('those "reds." are loud') == [("0", True, 'those "reds." are loud')]
    assert corrected("the red's are loud")[0][1]
    # an empty token between two spaces takes a place of the window
    assert published("red a b c d e  loud") == [("0", True, "red a b c d e  loud")]
    assert published("red a b c d e f  loud") == [("0", False, "red a b c d e f ")]


def test_attributes_stand_within_words_in_the_published_rules() -> None:
    assert published("a red party") == [("0", True, "a red party")]
    assert corrected("a red party") == [("0", False, "a red party")]
    assert corrected("a red art", "red arts", "louder reds", "red bad lucks") == [
        ("0", True, "a red art"),
        ("1", True, "red arts"),
        ("2", True, "louder reds"),
        ("3", True, "red bad lucks"),
    ]


def test_the_record_of_a_comment_is_overwritten_by_its_last_accepted_word() -> None:
    far = " ".join("abcdefgh")
    text = f"red loud {far} crimson loud"
    assert published(text) == [("0", True, f"{far[2:]} crimson loud")]
    assert corrected(text) == [("0", True, f"red loud {far[:11]}"), ("0", True, f"{far[2:]} crimson loud")]


def test_a_comment_without_a_word_is_one_empty_phrase_once() -> None:
    assert published("blue loud", "green loud") == [("0", False, "")]
    assert published("blue loud", keep=False) == []
    assert corrected("blue loud") == []


def test_equal_phrases_of_different_comments_stand_once() -> None:
    far = " ".join(["x"] * 7)
    assert [row[0] for row in published(f"loud red {far} a", f"loud red {far} b")] == ["0"]


def slow(text: str) -> tuple[bool, str]:
    """One comment by the published rules, token by token: whether an attribute is there, and the phrase."""
    tokens = text.split(" ")
    taken, tried = [], [""]
    for word in ("red", "reds", "crimson"):
        seen = 0
        for place in range(len(tokens)):
            if tokens[place] != word or seen == 2 or (seen == 1 and taken and taken[-1][0] == word):
                continue
            seen += 1
            around = [t for at, t in enumerate(tokens) if abs(at - place) <= 7]
            tried.append(" ".join(around))
            if any(mark in tried[-1] for mark in ("loud", "art", "bad luck")):
                taken.append((word, tried[-1]))
    return bool(taken), taken[-1][1] if taken else tried[-1]


TOKENS = st.sampled_from(["red", "reds", "reds.", "crimson", "loud", "party", "bad", "luck", "x", ""])


@given(st.lists(TOKENS, max_size=40).map(" ".join))
def test_published_phrases_against_a_slow_loop(text: str) -> None:
    accepted, phrase = slow(text)
    assert published(text) == [("0", accepted, phrase)]


@given(st.lists(TOKENS, max_size=40).map(" ".join))
def test_corrected_phrases_are_pieces_of_their_comment(text: str) -> None:
    found = extract_phrases(comments(text), TEAMS)
    for _, accepted, _, phrase in found.rows():
        assert phrase in " ".join(text.split())
        assert re.search(r"\b(red|reds|crimson)\b", phrase)
        assert accepted == bool(re.search(r"\b(loud\w*|arts?|bad lucks?)\b", phrase))


@pytest.mark.parametrize(
    ("bias", "text", "phrase"),
    [
        ("religion1", "they say a jewish mother is pushy", "they say a jewish mother is pushy"),
        ("religion2", "arab traders are rich", "arab traders are rich"),
        ("race", "african-americans in poverty", "african-americans in poverty"),
        ("gender", "my grandmother is a nurse", "my grandmother is a nurse"),
        ("orientation", "the pansexuals are artistic", "the pansexuals are artistic"),
    ],
)
def test_each_type_finds_its_words(bias: str, text: str, phrase: str) -> None:
    for as_published in (True, False):
        found = extract_phrases(comments(text), specification(bias), as_published=as_published)
        assert found.select("attribute_in_window", "phrase").rows() == [(True, phrase)]


def test_comments_that_lost_their_ids() -> None:
    found = extract_phrases(comments("a red art").drop("id"), TEAMS, as_published=True)
    assert found["id"].to_list() == [None]
