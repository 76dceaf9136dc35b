"""Two ways of counting the same documents: shares and differences by hand, largest first."""

import polars as pl
import pytest

from evenhand.measures.frequencies.ways_of_counting import counting_differences


def test_differences_by_hand() -> None:
    totals = pl.DataFrame({"corpus": ["a", "a", "b"], "fold": [0, 1, 0], "documents": [60, 40, 10]})
    counted = pl.DataFrame(
        {
            "corpus": ["a", "a", "b"],
            "term": [0, 1, 1],
            "documents": [10, 20, 4],
            "documents_here": [12, 5, 4],
            "only_published": [0, 15, 1],
            "only_here": [2, 0, 1],
        }
    )
    found = counting_differences(totals, counted)
    assert found["difference"].to_list() == pytest.approx([-15.0, 2.0, 0.0])
    assert found["share_published"].to_list() == pytest.approx([20.0, 10.0, 40.0])
    narrow = counted.with_columns(pl.col("documents", "documents_here").cast(pl.UInt8))
    assert counting_differences(totals.with_columns(pl.col("documents").cast(pl.Int8)), narrow).equals(found)


def test_nothing_that_was_counted_so_gives_an_empty_table() -> None:
    totals = pl.DataFrame({"corpus": ["a"], "fold": [0], "documents": [60]})
    columns = {"corpus": pl.String} | dict.fromkeys(
        ("term", "documents", "documents_here", "only_published", "only_here"), pl.Int64
    )
    assert counting_differences(totals, pl.DataFrame(schema=columns)).is_empty()
