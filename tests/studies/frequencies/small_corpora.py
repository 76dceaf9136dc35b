"""Two small corpora of made-up text, counted by the counter itself: views of them, also of hostile ones."""

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import numpy as np
import polars as pl

from evenhand.corpus import Batch, Counter, Matcher, Piece, Reason, build_terms, merged
from evenhand.corpus.terms import TermTable
from evenhand.corpus.terms.table import SURFACE_COLUMNS, TERM_COLUMNS
from evenhand.studies.frequencies import FrequencyView, frequency_tables

FILLER = [
    "the",
    "house",
    "of",
    "a",
    "river",
    "and",
    "long",
    "music",
    "for",
    "time",
    "in",
    "work",
    "day",
    "made",
    "new",
]
HOSTILE = "</script><script>alert(1)</script> <img src=x onerror=alert(2)> \u202ewhite\u202c \x1b[31m wall "
SIZES = {"web": 900, "news": 300}
SKIPPED = {Reason.EMPTY: 2, Reason.NOT_JSON: 1, Reason.NOT_SAMPLED: 7, Reason.OTHER_RECORD: 5}


@cache
def texts(name: str, n: int, *, hostile: bool = False) -> list[str]:
    """Documents: blind people stand with she, old ones with he; white is a wall."""
    rng = np.random.default_rng(len(name))
    return [HOSTILE * hostile + " ".join(_sentences(rng, name)) for _ in range(n)]


def _sentences(rng: np.random.Generator, name: str) -> Iterator[str]:
    for _ in range(int(rng.integers(3, 12))):
        words = [str(word) for word in rng.choice(FILLER, 12)]
        drawn = rng.random()
        if drawn < 0.2:
            words[5:5] = ["blind", "woman", "she" if rng.random() < 0.8 else "he"]
        elif drawn < 0.4:
            words[5:5] = ["elderly", "man", "he" if rng.random() < 0.8 else "she"]
        elif drawn < 0.6:
            words[5:5] = [str(rng.choice(["deaf", "young", "Jewish", "tall", "gay", "Kenyan"])), "person"]
        elif drawn < 0.75:
            words[5:5] = ["white", "wall"]
        elif drawn < (0.9 if name == "web" else 0.8):
            words[2] = str(rng.choice(["he", "his", "she", "they"]))
        yield " ".join(words) + "."


@cache
def small_view(*, hostile: bool = False) -> FrequencyView:
    """A view of both corpora; a third of them where they are hostile."""
    table = build_terms()
    matcher = Matcher(table)
    parts = []
    for name, n in SIZES.items():
        shown = f"<b>{name}</b>" if hostile else name
        counter = Counter(table, matcher, corpus=shown)
        documents = texts(name, n // 3 if hostile else n, hostile=hostile)
        folds = [hashlib.sha256(text.encode()).digest()[0] % 20 for text in documents]
        piece = Piece(shown, f"/data/{shown}\u202e.jsonl", "jsonl", 1000)
        counter.add(
            Batch(documents, folds, list(range(len(documents))), SKIPPED, 900),
            piece,
        )
        parts.append(counter.counts())
    counts = merged(parts)
    return FrequencyView(counts, table, frequency_tables(counts, table, sampled=1.0), {"duplicates": "keep"})


FAITHS = ["a Buddhist and a nun", "two Buddhists", "a buddhist", "a Wiccan", "nobody"]


def listed_twice(*, damage: str = "") -> FrequencyView:
    """FAITHS counted by a list as HolisticBias's: a name in two buckets and as a noun phrase, which has a plural."""
    faiths = [("all", "Buddhist"), ("all", "buddhist"), ("all", "Wiccan"), ("all", "Jain")]
    phrases = [(None, "Buddhist"), (None, "nun")]
    rows = [("descriptor", "religion", *each) for each in faiths + phrases]
    terms = [
        (i, row[3], *row[:3], f"holisticbias-v1.1{'' if row[2] else '-nouns'}", False)
        for i, row in enumerate(rows)
    ]
    spelt = [(i, i, row[3].lower(), False) for i, row in enumerate(rows)]
    table = TermTable(
        pl.DataFrame(terms, schema=TERM_COLUMNS, orient="row"),
        pl.DataFrame(spelt, schema=SURFACE_COLUMNS, orient="row"),
    )
    counter = Counter(table, Matcher(table), corpus="faiths")
    n = len(FAITHS)
    batch = Batch(FAITHS, list(range(n)), list(range(n)), {}, 90, True, None, damage)
    counter.add(batch, Piece("faiths", "/data/faiths.jsonl", "jsonl", 90))
    counts = counter.counts()
    return FrequencyView(counts, table, frequency_tables(counts, table, sampled=1.0), {"duplicates": "keep"})


@cache
def speaking_of_men(lists: tuple[str, ...] = ("pronouns",)) -> FrequencyView:
    """Twenty documents, all but one of which say he."""
    table = build_terms(lists)
    counter = Counter(table, Matcher(table), corpus="men")
    documents = [f"He has {place}." for place in range(19)] + ["Nobody has any."]
    places = list(range(20))
    counter.add(Batch(documents, places, places, {}, 90), Piece("men", "/data/men.jsonl", "jsonl", 90))
    counts = counter.counts()
    return FrequencyView(counts, table, frequency_tables(counts, table, sampled=1.0), {"duplicates": "keep"})


def without_hits(view: FrequencyView) -> FrequencyView:
    """The same documents, in which no term was found."""
    empty = {name: getattr(view.counts, name).clear() for name in ("terms", "groups", "pairs", "contexts")}
    counts = replace(view.counts, **empty)
    return replace(view, counts=counts, tables=frequency_tables(counts, view.table, sampled=1.0))


def share_of(view: FrequencyView, corpus: str, name: str) -> float:
    """A term's share in a corpus, percent."""
    mine = view.tables.frequencies.filter((pl.col("corpus") == corpus) & (pl.col("name") == name))
    return float(mine["share"][0])
