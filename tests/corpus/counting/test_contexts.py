"""Contexts: which are drawn, and what is shown of them."""

import numpy as np
import polars as pl
import pytest

from evenhand.corpus import Batch, Counter, Matcher, Piece
from evenhand.corpus.counting import Finder, contexts
from tests.corpus.counting.by_hand import SlowMatcher, table

TABLE = table()


def counter_of(texts: list[str], matcher: Finder, at_once: int = 1000, **options: int) -> Counter:
    counter = Counter(TABLE, matcher, corpus="c", **options)
    for first in range(0, len(texts), at_once):
        part = texts[first : first + at_once]
        batch = Batch(part, [0] * len(part), list(range(first, first + len(part))))
        counter.add(batch, Piece("c", "a.txt", "text", 1))
    return counter


def drawn(texts: list[str], matcher: Finder, **options: int) -> pl.DataFrame:
    return counter_of(texts, matcher, **options).counts().contexts


def test_each_hit_is_as_likely_drawn_as_any_other() -> None:
    texts = ["she"] * 100
    places = np.concatenate(
        [drawn(texts, SlowMatcher(TABLE), seed=seed, contexts=25)["place"].to_numpy() for seed in range(20)]
    )
    assert len(places) == 500
    counts = np.bincount(places // 10, minlength=10)
    # chi square of 9 degrees of freedom, 99.99 % quantile
    assert ((counts - 50) ** 2 / 50).sum() < 33.7


def test_the_original_is_shown_with_whole_words_around_it() -> None:
    begun = "The house stood where two roads met, and behind its garden a tall African\u2010American \u201cwoman\u201d "
    text = begun + "had lived for more than sixty years, or so they said who knew, alone."
    found = {row["hit"]: row for row in drawn([text], Matcher(TABLE)).iter_rows(named=True)}
    assert set(found) == {"American", "African\u2010American", "woman"}
    row = found["African\u2010American"]
    assert row["before"] == "stood where two roads met, and behind its garden a tall "
    assert row["after"] == " \u201cwoman\u201d had lived for more than sixty years, or so they"
    assert row["near_person"]


def test_a_long_word_is_cut_within() -> None:
    row = drawn(["x" * 100 + " deaf " + "y" * 100], SlowMatcher(TABLE)).row(0, named=True)
    assert (row["before"], row["after"]) == ("x" * 59 + " ", " " + "y" * 59)


def test_memory_stays_flat_where_documents_are_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contexts, "HELD", 1000)
    texts = [f"{number} deaf {'stone ' * 100}" for number in range(60)]
    counter = counter_of(texts, SlowMatcher(TABLE), at_once=1)
    waiting = [one.text for one in counter._contexts._iterate_hits() if one.text is not None]
    assert sum(map(len, waiting)) <= 1000
    monkeypatch.undo()
    assert counter.counts().contexts.equals(drawn(texts, SlowMatcher(TABLE)))
