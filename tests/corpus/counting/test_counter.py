"""The counts of random documents, however they are divided, against loops."""

from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given, settings, strategies as st

from evenhand.corpus import Batch, Counter, Counts, Piece, Reason, merged
from evenhand.corpus.counting import TABLES
from tests.corpus.counting.by_hand import SlowMatcher, counted, table

TABLE = table()
PEOPLE = (
    "she;him;american;americans;african american;black;blacks;black american;deaf;woman;person;christian;mary"
)
WORDS = [*PEOPLE.split(";"), "christians", "a", "house", "of", "stone", "."]
TEXTS = st.lists(st.sampled_from(WORDS), max_size=40).map(" ".join)
DOCUMENTS = st.lists(st.tuples(st.integers(0, 19), TEXTS), max_size=12)
KEYS = {
    "totals": ["fold"],
    "terms": ["fold", "term"],
    "groups": ["fold", "kind", "axis", "group"],
    "pairs": ["fold", "first", "second"],
}


def counts_of(
    documents: Sequence[tuple[int, str]], cuts: Sequence[int] = (), first: int = 0, **options: object
) -> Counts:
    """Counts of one piece, in batches that end at the cuts; places count from `first`."""
    counter = Counter(TABLE, SlowMatcher(TABLE), corpus="c", **options)
    edges = sorted({0, len(documents), *(cut for cut in cuts if cut < len(documents))})
    piece = Piece("c", "a.txt", "text", 100, first, first + len(documents))
    for begin, end in pairwise(edges):
        part = documents[begin:end]
        counter.add(
            Batch(
                [text for _, text in part],
                [fold for fold, _ in part],
                list(range(first + begin, first + end)),
                {Reason.EMPTY: 1},
                10,
            ),
            piece,
        )
    return counter.counts()


def as_dictionaries(counts: Counts) -> dict[str, dict]:
    tables: dict[str, dict] = {}
    for name, keys in KEYS.items():
        rows = getattr(counts, name).drop("corpus").iter_rows(named=True)
        tables[name] = {
            tuple(row[key] for key in keys) if len(keys) > 1 else row[keys[0]]: {
                column: count for column, count in row.items() if column not in keys
            }
            for row in rows
        }
    return tables


@given(DOCUMENTS, st.integers(0, 6))
@settings(max_examples=25, deadline=None)
def test_every_column_is_what_loops_over_hits_count(documents: list[tuple[int, str]], window: int) -> None:
    found = as_dictionaries(counts_of(documents, window=window))
    expected = counted(documents, TABLE, window)
    for name in KEYS:
        columns = [column for column in TABLES[name] if column not in ("corpus", *KEYS[name])]
        assert found[name] == {
            key: {column: row[column] for column in columns} for key, row in expected[name].items()
        }


@given(
    DOCUMENTS,
    st.lists(st.integers(0, 12), max_size=4),
    st.lists(st.integers(0, 12), max_size=4),
    st.randoms(),
)
@settings(max_examples=12, deadline=None)
def test_any_division_of_the_work_gives_the_same_counts(documents, cuts, ranks, random) -> None:
    whole = counts_of(documents)
    edges = sorted({0, len(documents), *(cut for cut in ranks if cut < len(documents))})
    parts = [
        counts_of(documents[begin:end], [cut - begin for cut in cuts if begin < cut < end], begin)
        for begin, end in pairwise(edges)
    ]
    if not parts:
        return
    random.shuffle(parts)
    half = random.randint(1, len(parts))
    together = merged([merged(parts[:half]), *parts[half:]])
    for name in TABLES:
        if name not in ("sources", "skipped"):
            assert getattr(together, name).equals(getattr(whole, name)), name
