"""The search through texts, against a slow search word by word."""

import fnmatch
import re

import pytest
from hypothesis import given, strategies as st

from evenhand.prompts.redditbias import BIAS_TYPES, specification
from evenhand.prompts.redditbias.queries import Terms, term_patterns
from tests.helpers.growth import assert_grows_linearly


def holds(text: str, term: str) -> bool:
    return all(pattern.search(text) for pattern in term_patterns(term))


@pytest.mark.parametrize(
    ("term", "text", "expected"),
    [
        ('"reds are"', "The REDS are here", True),
        ('"reds are"', "reds, are", True),
        ('"reds are"', "reds we are", False),
        ('"reds are"', "infrareds are", False),
        ('"reds are"', "reds area", False),
        ("greed*", "Greedy!", True),
        ("greed*", "agreed", False),
        ('"drug dealer*"', "two drug-dealers", True),
        ("hook-nose", "hook nose", True),
        ("hook-nose", "hooknose", False),
        ("mental stability", "stability of a mental kind", True),
        ("mental stability", "stability", False),
        ("a.c", "abc", False),
    ],
)
def test_terms(term: str, text: str, expected: bool) -> None:
    assert holds(text, term) is expected


def test_the_first_of_the_list_is_found_not_the_first_of_the_text() -> None:
    assert Terms(["b", "a"]).first("a b") == "b"
    assert Terms(["x", "*", ""]).first("a b") is None
    assert Terms([]).first("a") is None


WORDS = st.lists(st.sampled_from(["red", "reds", "are", "loud", "louder", "a"]), min_size=1, max_size=6)


@given(words=WORDS, term=WORDS.map(lambda words: " ".join(words[:2])), star=st.booleans())
def test_phrases_against_a_search_word_by_word(words: list[str], term: str, star: bool) -> None:
    wanted = term.split()

    def fits(place: int) -> bool:
        there = words[place : place + len(wanted)]
        last = len(there) == len(wanted) and (
            there[-1].startswith(wanted[-1]) if star else there[-1] == wanted[-1]
        )
        return last and there[:-1] == wanted[:-1]

    expected = any(fits(place) for place in range(len(words)))
    assert holds(", ".join(words), f'"{term}{"*" * star}"') is expected


@pytest.mark.parametrize("bias", BIAS_TYPES)
def test_every_published_term_is_found_where_it_stands_and_holds_a_stem(bias: str) -> None:
    found = specification(bias)
    for terms in (found.targets_1, found.attributes_1):
        search = Terms(terms)
        for term in terms:
            text = "So " + re.sub('["*]', "", term) + ", they say."
            assert holds(text, term) and search.first(text) is not None
            assert any(stem in text.lower().encode() for stem in search.stems)


def test_stems_are_as_few_as_possible() -> None:
    assert Terms(["jewish mothers", "jew", '"jews are"', "torah"]).stems == (b"jew", b"mothers", b"torah")
    assert Terms(["naïve"]).stems == ()


@given(st.text(st.sampled_from("ab*"), min_size=1), st.text(st.sampled_from("ab ")))
def test_stars_against_file_names(term: str, text: str) -> None:
    wanted = any(fnmatch.fnmatchcase(word, term) for word in text.split())
    if term.strip("*"):
        assert all(pattern.search(text) for pattern in term_patterns(term)) == wanted


@pytest.mark.parametrize("term", ['"*a*a*a*a*b"', "*a*a*a*a*a*a*b", '"a* a* a* b"'])
def test_the_time_for_many_stars_is_linear_in_the_text(term: str) -> None:
    patterns = term_patterns(term)

    def search(text: str) -> None:
        assert not all(pattern.search(text) for pattern in patterns)

    assert_grows_linearly(search, lambda size: "a" * size + " a" * size, 50_000)
