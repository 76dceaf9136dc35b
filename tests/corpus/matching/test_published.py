"""Counting as ROBBIE did: nltk's own tokens looked up in a set, where it departs from ours, and what may be missing."""

import sys
from collections.abc import Iterator
from pathlib import Path

import nltk
import nltk.data
import pytest
from nltk.tokenize import _get_punkt_tokenizer
from nltk.tokenize.punkt import PunktTrainer, save_punkt_params

from evenhand.corpus import Matcher, TermTable, build_terms
from evenhand.corpus.matching import published_documents
from evenhand.corpus.matching.published import _phrases
from evenhand.schema import DataError
from tests.helpers.slow_matching import table_of

TRAINING = (
    "Dr. Lee met Mr. Smith. They talked. Then Mr. Smith left. Dr. Lee stayed. She read. He wrote to Dr. Poe. "
    * 20
)


@pytest.fixture
def punkt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A model of sentences in the published format, trained on a few sentences of ours."""
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    folder = tmp_path / "tokenizers" / "punkt_tab" / "english"
    folder.mkdir(parents=True, mode=0o700)
    save_punkt_params(PunktTrainer(TRAINING).get_params(), str(folder))
    _get_punkt_tokenizer.cache_clear()
    _phrases.cache_clear()
    yield
    _get_punkt_tokenizer.cache_clear()
    _phrases.cache_clear()


def names_of(table: TermTable, texts: list[str]) -> list[set[str]]:
    names = table.terms["name"].to_list()
    return [{names[term] for term in found} for found in published_documents(table, texts)]


@pytest.mark.usefixtures("punkt")
def test_terms_of_one_token_are_those_among_nltks_tokens() -> None:
    texts = [
        "She told Dr. Smith's women (his friends) that they'd be white-collar. He's blind!",
        "the other hers/his\nthemselves... HERSELF; “he” he, ‘him’ her-self",
        "",
        "Black\u00a0women. whites, Blacks? A\0B he\ud800",
    ]
    table = build_terms(["pronouns", "descriptors"])
    single = [
        name for name in table.terms["name"].unique() if nltk.word_tokenize(name.lower()) == [name.lower()]
    ]
    assert len(single) > 500
    for found, text in zip(names_of(table, texts), texts, strict=True):
        tokens = set(nltk.word_tokenize(text.replace("\ud800", "\ufffd").lower()))
        assert {name for name in found if name in single} == {n for n in single if n.lower() in tokens}


@pytest.mark.usefixtures("punkt")
def test_phrases_are_tokens_that_follow_each_other() -> None:
    table = table_of("african american", "he/him", "hard-of-hearing", "lgbtq+", "who's blind")
    texts = [
        "An African American, and African. American",
        "African-American; he/him; hard-of-hearing LGBTQ+ folks",
        "Hard of hearing; one who's blind",
    ]
    assert names_of(table, texts) == [
        {"african american"},
        {"he/him", "hard-of-hearing", "lgbtq+"},
        {"who's blind"},
    ]


@pytest.mark.usefixtures("punkt")
@pytest.mark.parametrize(
    ("text", "published", "ours"),
    [
        ("women's work", {"women"}, {"women"}),
        ("a white-collar job", set(), {"white"}),
        ("an African-American poet", set(), {"african american"}),
        ("he said/she said", {"he"}, {"he", "she"}),
        ("she.He", set(), {"he", "she"}),
        ("Mus\u00adlim", set(), {"muslim"}),
    ],
)
def test_where_the_two_ways_part(text: str, published: set[str], ours: set[str]) -> None:
    table = table_of("women", "white", "african american", "he", "she", "muslim")
    assert names_of(table, [text]) == [published]
    hits = Matcher(table).find([text])
    assert {table.surfaces["text"][surface] for surface in hits.surface.tolist()} == ours


def test_without_the_model_of_sentences_it_is_said_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    _get_punkt_tokenizer.cache_clear()
    _phrases.cache_clear()
    with pytest.raises(DataError, match=r"nltk\.downloader punkt_tab"):
        published_documents(table_of("he"), ["He."])


def test_without_nltk_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nltk.tokenize", None)
    with pytest.raises(DataError, match=r"evenhand\[published\]"):
        published_documents(table_of("he"), ["He."])


def test_without_the_library_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ahocorasick_rs", None)
    with pytest.raises(DataError, match=r"evenhand\[corpus\]"):
        Matcher(table_of("he"))
