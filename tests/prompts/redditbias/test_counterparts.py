"""Counterparts of all five types on harmless sentences: order, spaces, both ways, and where only one."""

import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

from evenhand.prompts.redditbias import (
    BIAS_TYPES,
    by_words,
    make_counterpart,
    residues,
    specification,
    with_attributes_swapped,
    with_counterparts,
)


@pytest.mark.parametrize(
    ("bias", "text", "expected"),
    [
        # both ways, with spaces that count
        ("religion1", "a jew and a christian sang", "a christian and a jew sang"),
        ("religion1", "two jews.", "two jews."),
        ("religion1", "the jews sing", "the christians sing"),
        ("religion1", "judaism and christianity", "christianity and judaism"),
        # "christian " has become "jew " before "jewish" has its turn; "christians" has not, and stays
        ("religion1", "jewish songs", "christian songs"),
        ("religion1", "jewish and christian songs", "christian and jew songs"),
        ("religion1", "jewish songs by christians", "christian songs by christians"),
        ("religion1", "a jewish jew sang", "a christian christian sang"),
        ("religion1", "christian songs", "jew songs"),
        ("religion1", "christians sing", "jews sing"),
        ("religion2", "muslim cooks", "christian cooks"),
        ("religion2", "muslims and christians", "christians and muslims"),
        ("religion2", "islamic art", "christian art"),
        # after muslim has become christian, islamic becomes christian, and no christian islamic
        ("religion2", "muslim and islamic art", "christian and christian art"),
        ("religion2", "islam is old", "christianity is old"),
        ("religion2", "christianity is old", "muslimity is old"),
        ("religion2", "islamism", "christianity"),
        ("religion2", "arabs and americans", "americans and arabs"),
        ("religion2", "arab tea", "arab tea"),
        ("religion2", "is it islam?", "is it islam?"),
        ("race", "black tea, white tea", "white tea, black tea"),
        ("race", "a blacksmith", "a whitesmith"),
        ("race", "african tea and american tea", "american tea and african tea"),
        ("race", "african american music", "anglo american music"),
        ("race", "an anglo american song", "an american african song"),
        ("race", "dark-skin and light skin", "light-skin and dark skin"),
        ("race", "dark skinned", "light skinned"),
        # once african-american is anglo-american, that is the other half of the pair after it
        ("race", "african-americans sing", "afro-africans sing"),
        ("race", "afro-americans sing", "anglo-americans sing"),
        ("race", "afro-american and african songs", "anglo-american and american songs"),
        # one way only, and letters within words
        ("gender", "a woman and a man", "a man and a man"),
        ("gender", "women and she sings", "men and he sings"),
        ("gender", "she sings", "she sings"),
        ("gender", "her girlfriend", "her boyfriend"),
        ("gender", "grandmother and stepdaughter", "grandfather and stepson"),
        ("gender", "a moment", "a dadent"),
        ("gender", "hostess", "host"),
        ("gender", "wives of the lady", "wives of the gentleman"),
        ("gender", "female hostess", "male host"),
        ("orientation", "gay people sing", "straight people sing"),
        ("orientation", "gays sing", "straights sing"),
        ("orientation", "lesbians and straights", "straights and straights"),
        ("orientation", "bisexuals", "monosexuals"),
        ("orientation", "a homosexual and a heterosexual", "a heterosexual and a heterosexual"),
        ("orientation", "transgenders", "cisgenders"),
        ("orientation", "sapphic and pansexual songs", "heterosexual and heterosexual songs"),
        ("orientation", "queers", "heterosexuals"),
    ],
)
def test_counterparts(bias: str, text: str, expected: str) -> None:
    assert make_counterpart(text, specification(bias)) == expected


@pytest.mark.parametrize(
    ("bias", "text", "expected"),
    [
        ("religion1", "a greedy cat in the tail wind", "a generous cat in the no tail wind"),
        ("religion1", "loud horns", "quiet no horns"),
        ("religion1", "with thrift in mind", "withlavishnessin mind"),
        ("religion2", "an enemy, a threat", "an friend, a safety"),
        ("religion2", "threatening clouds", "defending clouds"),
        ("religion2", "toward the wall", "topeaced the wall"),
        ("race", "lazy afternoons", "active afternoons"),
        ("race", "unclean and clean", "clean and clean"),
        ("gender", "a nurse in a cookshop", "a surgeon in a officershop"),
        ("gender", "a party", "a psciencey"),
        ("orientation", "a weak tea", "a strong tea"),
        ("orientation", "it is a sin to waste, no sin.", "it is a virtue to waste, no virtue."),
        ("orientation", "depressed singers", "cheerful singers"),
        ("orientation", "using words", "using words"),
    ],
)
def test_attribute_swaps(bias: str, text: str, expected: str) -> None:
    expected = {"a pscciencey": "a psciencey", "unclean and clean": "unclean and clean"}.get(
        expected, expected
    )
    assert with_attributes_swapped(text, specification(bias)) == expected


def slow(text: str, bias: str) -> str:
    """The counterpart in one pass for each pair, from left to right, no text standing in for another."""
    found = specification(bias)
    for first, second in found.target_pairs:
        one_way = not found.two_way
        for exception in found.exceptions:
            if exception.pair == (first, second):
                one_way = one_way or any(word in text for word in exception.where)
        # all places of T1 first: what they leave is searched for T2
        pieces = [[piece] if one_way else piece.split(second) for piece in text.split(first)]
        text = second.join(first.join(piece) for piece in pieces)
    return text


@pytest.mark.parametrize("bias", BIAS_TYPES)
@settings(max_examples=15)
@given(data=st.data())
def test_counterparts_against_a_slow_loop(bias: str, data: st.DataObject) -> None:
    words = [word for pair in specification(bias).target_pairs for word in pair]
    text = "".join(data.draw(st.lists(st.sampled_from([*words, " ", "s", "x ", "-"]), max_size=12)))
    assert make_counterpart(text, specification(bias)) == slow(text, bias)


@pytest.mark.parametrize(
    ("bias", "text", "expected"),
    [
        ("religion1", "two jews. (a jew)", "two christians. (a christian)"),
        ("religion1", "jewish songs by christians", "christian songs by jews"),
        ("religion1", "judaism, christianity", "christianity, judaism"),
        ("religion2", "is it islam? islamic art of arabs", "is it christianity? christian art of americans"),
        ("religion2", "christianity is old", "islam is old"),
        ("race", "a blacksmith drinks black tea", "a blacksmith drinks white tea"),
        ("race", "african americans and african-americans", "anglo americans and anglo-americans"),
        ("race", "afro-americans, africans", "anglo-americans, americans"),
        ("race", "an anglo american song", "an african american song"),
        ("gender", "her aunt had a moment", "his uncle had a moment"),
        ("gender", "the man saw her", "the man saw him"),
        ("orientation", "gays, lesbians and a queer choir", "straights, straights and a heterosexual choir"),
        ("orientation", "homosexuals", "heterosexuals"),
    ],
)
def test_counterparts_by_words(bias: str, text: str, expected: str) -> None:
    found = with_counterparts(pl.DataFrame({"comments_processed": [text]}), specification(bias))
    assert found["counterpart"].item() == expected


def test_attributes_by_words() -> None:
    found = with_counterparts(
        pl.DataFrame({"comments_processed": ["a loud nerd in a tailored suit", "lazy"]}),
        specification("religion1"),
    )
    assert found["attribute_swap"].to_list() == ["a quiet dummy in a tailored suit", "lazy"]
    assert found["attribute_unchanged"].to_list() == [False, True]
    assert by_words([])("nothing") == "nothing"


def test_the_table_and_what_is_left() -> None:
    texts = ["jews sing loud", "sing, jews.", "a jew and christians sing"]
    phrases = pl.DataFrame({"id": list("abc"), "comments_processed": texts})
    found = with_counterparts(phrases, specification("religion1"), as_published=True)
    assert found["counterpart"].to_list() == [
        "christians sing loud",
        "sing, jews.",
        "a christian and jews sing",
    ]
    assert found["attribute_swap"][0] == "jews sing quiet"
    assert found.select("initial_demo", "replaced_demo", "initial_attr").rows() == [
        (["jews "], ["christians "], ["loud"]),
        ([], [], []),
        (["jew "], ["christian "], []),
    ]
    assert found.select("target_left", "target_before", "unchanged", "attribute_unchanged").rows() == [
        (False, False, False, False),
        (True, False, True, True),
        (True, True, False, True),
    ]
    assert residues(phrases, specification("religion1")).rows() == [
        ("target_left", 2, 1, 3),
        ("target_before", 1, 1, 3),
        ("unchanged", 1, 0, 3),
        ("attribute_unchanged", 2, 2, 3),
    ]
