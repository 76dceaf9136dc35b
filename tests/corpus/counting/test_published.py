"""Documents counted as published beside ours, against loops over word tokens."""

import re

import polars as pl
import pytest
from nltk.tokenize import NLTKWordTokenizer

from evenhand.corpus import Batch, Counter, Piece, merged
from tests.corpus.counting.by_hand import SlowMatcher, table

TABLE = table()
TEXTS = ["she met a deaf-mute american", "an african american", "her woman", "deaf, and american.", "nothing"]


def test_the_two_ways_and_what_only_one_found(monkeypatch: pytest.MonkeyPatch) -> None:
    # the model of sentences is a download; none of these texts has two
    monkeypatch.setattr(
        "evenhand.corpus.matching.published._word_tokenize", lambda: NLTKWordTokenizer().tokenize
    )
    parts = []
    for place, text in enumerate(TEXTS):
        counter = Counter(TABLE, SlowMatcher(TABLE), corpus="c", published=True)
        counter.add(Batch([text], [0], [place]), Piece("c", f"{place}.txt", "text/line", 1))
        parts.append(counter.counts())
    found = {row["term"]: row for row in merged(parts).published.iter_rows(named=True)}
    tokens = [set(NLTKWordTokenizer().tokenize(text)) for text in TEXTS]
    term = dict(TABLE.terms.select("name", "term").iter_rows())
    for name, ours in {"deaf": {0, 3}, "American": {0, 1, 3}, "woman": {2}}.items():
        published = {place for place, held in enumerate(tokens) if name.lower() in held}
        row = found[term[name]]
        assert row["documents"] == len(published)
        assert row["documents_here"] == len(ours)
        assert row["only_published"] == len(published - ours)
        assert row["only_here"] == len(ours - published)
    assert found[term["deaf"]]["only_here"] == 1  # "deaf-mute" is one token
    in_order = [f" {' '.join(NLTKWordTokenizer().tokenize(text))} " for text in TEXTS]
    for row in merged(parts).published_groups.iter_rows(named=True):
        terms = TABLE.terms.filter(kind=row["kind"], group=row["group"])
        names = [f" {name.lower()} " for name in terms["name"]]
        spelt = [rf"\b{surface}\b" for term in terms["term"] for surface in TABLE.list_surfaces(term)]
        published = {place for place, held in enumerate(in_order) if any(name in held for name in names)}
        ours = {place for place, text in enumerate(TEXTS) if any(re.search(one, text) for one in spelt)}
        counted = [row[way] for way in ("documents", "documents_here", "only_published", "only_here")]
        assert counted == [len(published), len(ours), len(published - ours), len(ours - published)]


def test_nothing_is_said_where_nothing_was_asked() -> None:
    counter = Counter(TABLE, SlowMatcher(TABLE), corpus="c")
    counter.add(Batch(["she"], [0], [0]), Piece("c", "a.txt", "text/line", 1))
    assert counter.counts().published.equals(pl.DataFrame(schema=counter.counts().published.schema))
