"""Spelling before comparison: each stated rule by hand, all of them against a slow second writing, and hostile text."""

import unicodedata

import pytest
from hypothesis import given, strategies as st

from evenhand.corpus.normalising import keep_words, normalise, normalise_bytes
from tests.helpers.slow_matching import slow_normalised

NASTY = st.text(
    st.one_of(
        st.sampled_from("aeEhß İı_09 \n\t-–—’'\".!?,/()\0\x01\x85"),
        st.sampled_from(
            "\u0301\u0327\u0323\u00ad\u200b\u200d\u200e\u202e\ufeff\u00a0\u2011\ufe0f\u034f\ud800\udc00"
        ),
        st.sampled_from("éÉñΑά한ᄒ\u1161中न\u093f\u05d0\u0660²ǰ\ufb01🙂♀…。"),
    ),
    max_size=40,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("African-American", "african american"),
        ("African\u2011American African\u2013American", "african american african american"),
        ("African\u00a0 \tAmerican", "african american"),
        ("African\r\n   American", "african\namerican"),
        ("African\n \n\n\nAmerican", "african\n\namerican"),
        ("white - American", "white , american"),
        ("white--American", "white,,american"),
        ("white—American", "white\x01american"),
        ("Mus\u00adlim Mus\u200dlim \u200fMuslim\u202c", "muslim muslim muslim"),
        ("and\u200bshe", "and she"),
        ("women’s “RIGHTS”", 'women\'s "rights"'),
        ("STRASSE Straße", "strasse strasse"),
        ("İslam ISLAM", "islam islam"),
        ("Bahá'í Baha\u0301’i\u0301 BAHA\u0301'I\u0301", "bahá'í bahá'í bahá'í"),
        ("a\0b", "a\x01b"),
        ("a\ud800b", "a\x01b"),
        ("♀\ufe0fshe", "\x01she"),
        ("snake_case", "snake_case"),
        ("", ""),
    ],
)
def test_rules(text: str, expected: str) -> None:
    assert normalise(text) == slow_normalised(text) == expected


@given(st.lists(NASTY, max_size=4))
def test_many_documents_are_as_each_alone_written_slowly(texts: list[str]) -> None:
    assert normalise_bytes(texts).decode() == "\0".join(["", *map(slow_normalised, texts), ""])


@given(NASTY)
def test_what_is_beyond_ascii_is_of_words_and_places_stay(text: str) -> None:
    content = normalise_bytes([text])
    alone = keep_words(content)
    assert len(alone) == len(content)
    for character in normalise(text):
        of_word = character.isalnum() or unicodedata.category(character)[0] == "M" or character == "_"
        assert character.isascii() or of_word
    assert alone.decode().split() == ["".join(part) for part in _runs(normalise(text))]


def _runs(text: str) -> list[str]:
    return "".join(
        c if c.isalnum() or c == "_" or unicodedata.category(c)[0] == "M" else " " for c in text
    ).split()
