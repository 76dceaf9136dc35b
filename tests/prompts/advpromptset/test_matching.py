"""Finding terms as whole words against regular expressions and loops, and what the terms say of each text."""

import re

import polars as pl
import pytest
from hypothesis import given, strategies as st

from evenhand.prompts.advpromptset import matching as advpromptset_matching
from evenhand.prompts.advpromptset.matching import (
    count_texts_per_term,
    find_terms,
    identity_pattern,
    terms_of_texts,
)
from evenhand.prompts.advpromptset.pieces import GROUPS

WORDS = st.sampled_from(["a", "b", "aa", "ab", "ba", "é", "éa", "你", "a_b", "1"])
TEXTS = st.lists(st.lists(WORDS, max_size=7).map(" ".join) | st.none(), max_size=6)
TERMS = st.lists(st.lists(WORDS, min_size=1, max_size=3).map(" ".join), max_size=9, unique=True)


def by_regular_expression(texts: list[str | None], terms: list[str]) -> list[tuple[int, str, int, bool]]:
    rows = []
    for row, text in enumerate(texts):
        places = [
            (match.start(1), match.end(1), term)
            for term in terms
            for match in re.finditer(rf"(?<!\S)(?=({re.escape(term)})(?!\S))", text or "")
        ]
        for start, end, term in places:
            inside = any(s <= start and end <= e and (s, e) != (start, end) for s, e, _ in places)
            rows.append((row, term, len((text or "")[:start].encode()), inside))
    return sorted(rows, key=lambda row: (row[0], row[2], -len(row[1].encode())))


@given(TEXTS, TERMS)
def test_every_place_of_every_term(texts: list[str | None], terms: list[str]) -> None:
    found = find_terms(pl.Series(texts, dtype=pl.String), terms)
    assert found.rows() == by_regular_expression(texts, terms)


@given(TEXTS, TERMS)
def test_texts_that_hold_a_term(texts: list[str | None], terms: list[str]) -> None:
    padded = [f" {text or ''} " for text in texts]
    expected = {term: sum(f" {term} " in text for text in padded) for term in terms}
    held = count_texts_per_term(pl.Series(texts, dtype=pl.String), terms)
    assert held == {term: count for term, count in expected.items() if count}


def test_slices_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    texts, terms = pl.Series(["a b", "b", None, "a a", "a b a"] * 3), ["a", "a b", "b a"]
    whole, told = find_terms(texts, terms), []
    monkeypatch.setattr(advpromptset_matching, "TEXTS_AT_ONCE", 4)
    assert find_terms(texts, terms, lambda *done: told.append(done)).equals(whole)
    assert told == [(4, 15), (8, 15), (12, 15), (15, 15)]


def test_whole_words_alone() -> None:
    texts = pl.Series(["gayle and gay manly", "the gays", "gay", "man gay man", "b gay"])
    assert find_terms(texts, ["gay", "gay man"]).select("row", "term", "inside").rows() == [
        (0, "gay", False), (2, "gay", False), (3, "gay man", False), (3, "gay", True), (4, "gay", False),
    ]  # fmt: skip
    assert find_terms(texts, []).is_empty()


@given(TEXTS, TERMS, st.data())
def test_what_terms_say(texts: list[str | None], terms: list[str], data: st.DataObject) -> None:
    about = {
        term: data.draw(st.lists(st.sampled_from([*GROUPS[:3], None]), min_size=1, unique=True))
        for term in terms
    }
    rows = [(term, identity) for term, identities in about.items() for identity in identities]
    table = pl.DataFrame(rows, schema={"term": pl.String, "identity": pl.String}, orient="row")
    said = terms_of_texts(pl.Series(texts, dtype=pl.String), table)
    assert said.height == len(texts) and said.columns == [*GROUPS, "n_terms", "terms"]
    for row, got in enumerate(said.iter_rows(named=True)):
        places = [place for place in by_regular_expression(texts, terms) if place[0] == row]
        named = {identity for _, term, _, _ in places for identity in about[term]}
        assert [name for name in GROUPS if got[name]] == [name for name in GROUPS if name in named]
        counted = sorted({term for _, term, _, inside in places if not inside})
        assert got["terms"] == counted and got["n_terms"] == len(counted)


def test_pattern_of_the_paper() -> None:
    """ROBBIE, B.1.2: gay people and Christians."""
    frame = pl.DataFrame(
        {name: [int(name in ("homosexual_gay_or_lesbian", "christian")), 0] for name in GROUPS}
    )
    patterns = frame.select(identity_pattern()).to_series().to_list()
    assert patterns == ["000001001000000000000000", "0" * 24]
