"""What may not be added up, and what may."""

from dataclasses import replace

import polars as pl
import pytest

from evenhand.corpus import CountingOptions, merged
from evenhand.corpus.counting import SOURCES, empty_counts
from evenhand.schema import DataError


def sources(*rows: tuple[str, str, int, int | None]) -> pl.DataFrame:
    several = [
        (corpus, address, "text", first, last, 1, 1, None, None, 0) for corpus, address, first, last in rows
    ]
    return pl.DataFrame(several, schema=SOURCES, orient="row")


def test_counts_of_two_tables_are_not_added() -> None:
    with pytest.raises(DataError, match="a1 and b2"):
        merged([empty_counts("a1"), empty_counts("b2")])


def test_counts_of_two_windows_are_not_added() -> None:
    with pytest.raises(DataError, match="window 10 and 5"):
        merged([empty_counts("a1"), empty_counts("a1", CountingOptions(window=5))])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("c", "a.txt", 0, None), ("c", "a.txt", 0, None)),
        (("c", "a.txt", 10, 20), ("c", "a.txt", 10, 20)),
        (("c", "a.txt", 0, None), ("c", "a.txt", 10, 20)),
        (("c", "a.txt", 0, 11), ("c", "a.txt", 10, 20)),
    ],
)
def test_a_piece_that_was_read_twice_is_refused(one, other) -> None:
    two = [replace(empty_counts("a1"), sources=sources(source)) for source in (other, one)]
    with pytest.raises(DataError, match=r"a\.txt .* was counted twice for the corpus 'c'"):
        merged(two)


def test_pieces_side_by_side_and_the_same_file_in_two_corpora_are_added() -> None:
    several = [
        ("c", "a.txt", 10, None),
        ("c", "a.txt", 0, 10),
        ("d", "a.txt", 0, None),
        ("c", "b.txt", 0, None),
    ]
    parts = [replace(empty_counts("a1"), sources=sources(source)) for source in several]
    assert merged(parts).sources.height == 4


def test_nothing_cannot_be_added_up() -> None:
    with pytest.raises(ValueError, match="no counts were given"):
        merged([])
