"""Hits against regular expressions and loops: boundaries, nested and shared terms, hostile text, and real text."""

import re
from bisect import bisect_right
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from evenhand.corpus import Matcher, TermTable, build_terms
from tests.corpus.test_normalising import NASTY
from tests.helpers.growth import assert_grows_linearly
from tests.helpers.slow_matching import WORD, Hit, slow_hits, slow_sentence_ends, slow_words, table_of

SURFACES = (
    "a",
    "e",
    "he",
    "a a",
    "é",
    "he a",
    "a/e",
    "e'a",
    "ss",
    "한",
    "i",
    "a e a",
    "he",
    "(a)",
    "0",
    "a+",
)
SMALL = table_of(*SURFACES)


def hits_of(table: TermTable, texts: list[str]) -> list[Hit]:
    hits = Matcher(table).find(texts)
    columns = (hits.document, hits.start, hits.surface, hits.nested, hits.sentence, hits.word)
    return [Hit(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]


def found(text: str, *surfaces: str) -> list[str]:
    return [surfaces[hit.surface] for hit in hits_of(table_of(*surfaces), [text])]


@settings(max_examples=40)
@given(st.lists(st.one_of(NASTY, st.text("ae h'.\n-/!)", max_size=30)), max_size=4))
def test_all_is_as_written_slowly(texts: list[str]) -> None:
    assert hits_of(SMALL, texts) == slow_hits(SMALL, texts)


@settings(max_examples=40)
@given(st.lists(st.text("ab ’'.!?\n\")mrs", max_size=40), min_size=1, max_size=3))
def test_words_and_sentences_are_as_counted_slowly(texts: list[str]) -> None:
    matcher = Matcher(SMALL)
    hits = matcher.find(texts)
    plain = [matcher.normalise(text) for text in texts]
    assert hits.words.tolist() == [len(slow_words(text)) for text in plain]
    assert hits.sentences.tolist() == [len(slow_sentence_ends(text)) for text in plain]


@given(NASTY)
def test_a_hit_stands_in_the_original_where_it_is_said_to(text: str) -> None:
    matcher = Matcher(SMALL)
    hits = matcher.find([text])
    starts, surfaces = hits.start.tolist(), hits.surface.tolist()
    places = matcher.originals([text] * len(starts), starts, surfaces)
    for surface, (first, last) in zip(surfaces, places, strict=True):
        there = matcher.normalise(text[first:last]).replace("\n", " ")
        assert there == SURFACES[surface]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the other", []),
        ("hé he\u0301 he_ he2", []),
        ("(he), he. “he”", ["he"] * 3),
        ("women's women’s WOMEN", ["women"] * 3),
        ("white-collar non-Muslim", ["white", "muslim"]),
        ("Mus\u00adlim", ["muslim"]),
        ("African American, African-American, african\namerican", ["african american", "american"] * 3),
        ("African, American; African. American; African/American; African - American", ["american"] * 4),
        ("African\n\nAmerican", ["american"]),
        ("he/him or he, him", ["he/him", "he", "he"]),
        ("他he是", []),
        ("", []),
    ],
)
def test_boundaries(text: str, expected: list[str]) -> None:
    assert found(text, "he", "women", "white", "muslim", "african american", "american", "he/him") == expected


def test_nested_and_shared_and_overlapping_hits() -> None:
    table = table_of("american", "african american", "american women", "american")
    hits = hits_of(table, ["", "An African-American woman. African American women"])
    assert [(hit.document, hit.surface, hit.nested) for hit in hits] == [
        (1, 1, False), (1, 0, True), (1, 3, True), (1, 1, False), (1, 2, False), (1, 0, True), (1, 3, True),
    ]  # fmt: skip
    assert [hit.sentence for hit in hits] == [0, 0, 0, 1, 1, 1, 1]
    assert [hit.word for hit in hits] == [1, 2, 2, 4, 5, 5, 5]


def test_no_term_crosses_from_a_document_into_the_next() -> None:
    assert hits_of(table_of("african american"), ["African", "American", "\0", "African\0American"]) == []


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Dr. Ada met J. K. Smith of the U.S. army. She left.", 2),
        ('"Did he?" (She did!) They\'re... here', 4),
        ("Heading\nA line. Another\n\n\n", 3),
        ("Version 3.11 of example.org", 1),
        ("... ! ?", 0),
    ],
)
def test_sentences(text: str, sentences: int) -> None:
    assert Matcher(SMALL).find([text]).sentences.tolist() == [sentences]


def test_words_are_not_parted_by_apostrophes_but_by_hyphens() -> None:
    assert Matcher(SMALL).find(["don't you re-enter", "''", "rock 'n' roll"]).words.tolist() == [4, 0, 3]


def test_documents_that_are_looked_through_in_parts_are_as_in_one(monkeypatch: pytest.MonkeyPatch) -> None:
    table = table_of("she", "he", "african american", "american")
    texts = ["She, African-American. é\n" * 9, "", "he", *["They said. So did he é " * 3] * 20, "", "", "She"]
    expected = slow_hits(table, texts)
    assert hits_of(table, texts) == expected
    for characters in (1, 60, 200, 10_000):
        monkeypatch.setattr("evenhand.corpus.matching.matcher.AT_ONCE", characters)
        assert hits_of(table, texts) == expected
        assert len(Matcher(table).find(texts).words) == len(texts)


def test_nothing_to_find_and_nowhere_to_find_it() -> None:
    hits = Matcher(table_of()).find(["He said.", ""])
    assert (hits.words.tolist(), hits.sentences.tolist(), len(hits.start)) == ([2, 0], [1, 0], 0)
    hits = Matcher(SMALL).find([])
    assert (len(hits.words), len(hits.sentences), len(hits.start)) == (0, 0, 0)


@pytest.mark.parametrize("piece", ["a", "é", "\0", " ", "-", "\n", ".", "\u0301", "中", "' "])
def test_the_time_for_one_huge_run_is_linear(piece: str) -> None:
    matcher = Matcher(SMALL)

    def find(text: str) -> None:
        assert len(matcher.find([text]).words) == 1

    def text_of(size: int) -> str:
        return piece * (size // len(piece.encode()))

    find(text_of(2_000_000))
    assert_grows_linearly(find, text_of, 200_000)  # both sizes fit into the cache of the processor


@pytest.mark.slow
def test_a_document_of_200_mb_without_a_space() -> None:
    hits = Matcher(SMALL).find(["x" * 200_000_000 + " he"])
    assert (hits.words.tolist(), hits.start.tolist()) == ([2], [200_000_001] * 2)


def test_five_thousand_terms_are_found_at_once() -> None:
    rng = np.random.default_rng(0)
    syllables = ["ka", "mo", "ri", "te", "lu", "son", "ber", "vi"]
    words = sorted({"".join(rng.choice(syllables, size=5)) for _ in range(6_000)})[:5_000]
    text = " ".join(rng.choice(words, size=20_000))
    expected = Counter(text.split())
    table = table_of(*words)
    counted = Counter(table.surfaces["text"].gather(Matcher(table).find([text]).surface).to_list())
    assert counted == expected


def _real_text(shared: Path) -> list[str]:
    wikitext = [(shared / "data/wikitext2" / name).read_text("utf-8") for name in ("test.txt", "valid.txt")]
    paragraphs = [line for text in wikitext for line in text.split("\n = ")]
    reddit = [
        path.read_text("utf-8", "replace") for path in sorted((shared / "data/redditbias").rglob("*.csv"))
    ]
    prompts = [path.read_text("utf-8") for path in sorted((shared / "data/bold").glob("*.json"))]
    return [*paragraphs, *prompts, *reddit]


@pytest.mark.parity
@pytest.mark.slow
def test_every_term_on_real_text_as_a_regular_expression_counts_it(shared: Path) -> None:
    texts = _real_text(shared)
    table = build_terms(
        ["descriptors", "pronouns", "holisticbias", "names"], holisticbias=shared / "data/holisticbias"
    )
    matcher = Matcher(table)
    hits = matcher.find(texts)
    whole = "\0".join(map(matcher.normalise, texts))
    assert len(whole) > 5_000_000
    counted = np.bincount(hits.surface, minlength=table.surfaces.height).tolist()
    for surface, spelt in enumerate(table.surfaces["text"]):
        literal = "[ \n]".join(map(re.escape, spelt.split(" ")))
        # the boundary in front is looked at behind, so that the search is for a literal
        places = re.finditer(rf"{literal}(?!{WORD})", whole)
        expected = sum(not re.match(WORD, whole[place.start() - 1]) for place in places)
        assert counted[surface] == expected, spelt
    assert sum(counted) > 50_000


@pytest.mark.parity
@pytest.mark.slow
def test_every_hit_on_real_text_is_nested_and_numbered_as_loops_say(shared: Path) -> None:
    texts = [part for text in _real_text(shared) for part in text.splitlines(keepends=True)]
    table = build_terms(
        ["descriptors", "pronouns", "holisticbias", "names"], holisticbias=shared / "data/holisticbias"
    )
    matcher = Matcher(table)
    hits = matcher.find(texts)
    lengths = table.surfaces["text"].str.len_chars().to_numpy()[hits.surface]
    edges = np.searchsorted(hits.document, np.arange(len(texts) + 1)).tolist()
    for document, text in enumerate(texts):
        plain = matcher.normalise(text)
        words, ends = slow_words(plain), slow_sentence_ends(plain)
        assert (hits.words[document], hits.sentences[document]) == (len(words), len(ends))
        here = slice(edges[document], edges[document + 1])
        first, length = hits.start[here], lengths[here].astype(np.int64)
        last = first + length
        longer = length[None, :] > length[:, None]
        inside = (first[None, :] <= first[:, None]) & (last[:, None] <= last[None, :])
        assert hits.nested[here].tolist() == (longer & inside).any(axis=1).tolist()
        for start, word, sentence in zip(first.tolist(), hits.word[here], hits.sentence[here], strict=True):
            assert word == bisect_right(words, start, key=lambda span: span[1])
            assert sentence == bisect_right(ends, word)


@pytest.mark.parity
def test_some_real_documents_in_all_as_written_slowly(shared: Path) -> None:
    texts = [text[:400] for text in _real_text(shared)[::960]]
    table = build_terms()
    words = table.surfaces["text"].to_list()
    often = [w for w in words if len(w) < 8][:150]
    small = table_of(
        *dict.fromkeys(["she", "he", "they", "his", "her", "american", "african american", *often])
    )
    assert hits_of(small, texts) == slow_hits(small, texts)


@given(
    st.lists(
        st.sampled_from(["he ", "he", "ß ", "é", "  ", "\u00ad", " - ", "İ\u0301 ", "x", "\n \n"]),
        max_size=60,
    )
)
def test_places_in_long_originals(pieces: list[str]) -> None:
    text = "".join(pieces) * 12
    matcher = Matcher(SMALL)
    hits = matcher.find([text])
    places = [m.start() for m in re.finditer("he", text)]
    for start, surface in list(zip(hits.start.tolist(), hits.surface.tolist(), strict=True))[::40]:
        ((first, last),) = matcher.originals([text], [start], [surface])
        assert matcher.normalise(text[first:last]).replace("\n", " ") == SURFACES[surface]
        assert len(matcher.normalise(text[:first]).rstrip(" \n")) <= start
        assert SURFACES[surface] != "he" or first in places
