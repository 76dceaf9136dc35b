"""Tables of real counts: against a regular expression over the same texts, and the planted senses and leanings."""

import re
import statistics
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from evenhand.schema import DataError, UsageError
from evenhand.studies.frequencies import frequency_tables
from tests.studies.frequencies.small_corpora import (
    SIZES,
    listed_twice,
    share_of,
    small_view,
    texts,
    without_hits,
)


@pytest.fixture(scope="module")
def view():
    return small_view()


@pytest.mark.parametrize("name", ["blind", "white", "Jewish", "she"])
def test_shares_are_those_of_a_regular_expression(view, name: str) -> None:
    found = re.compile(rf"\b{name}\b", re.IGNORECASE)
    for corpus, n in SIZES.items():
        held = sum(bool(found.search(text)) for text in texts(corpus, n))
        assert share_of(view, corpus, name) == pytest.approx(100 * held / n)


def test_weighted_means_are_shares_of_all_documents(view) -> None:
    mean = view.tables.means.filter(pl.col("name") == "blind")["weighted_mean"][0]
    held = sum("blind" in text for corpus, n in SIZES.items() for text in texts(corpus, n))
    assert mean == pytest.approx(100 * held / sum(SIZES.values()))
    assert view.tables.means["weighted_mean"].is_sorted(descending=True)


def test_every_term_has_a_row_in_every_corpus(view) -> None:
    assert view.tables.frequencies.height == len(SIZES) * len(view.table)
    assert len(view.table) == view.tables.means.height
    assert view.tables.axes["terms"].sum() == len(view.table)


def test_he_to_she_is_that_of_the_texts(view) -> None:
    groups = {"she": r"\b(she|her|hers|herself)\b", "he": r"\b(he|him|his|himself)\b"}
    for row in view.tables.ratios.to_dicts():
        documents = texts(row["corpus"], SIZES[row["corpus"]])
        counts = {
            name: sum(bool(re.search(words, text)) for text in documents) for name, words in groups.items()
        }
        assert row["ratio"] == pytest.approx(counts["he"] / counts["she"])
        assert row["ratio_low"] < row["ratio"] < row["ratio_high"]


def test_planted_senses_and_leanings_are_found(view) -> None:
    flagged = view.tables.frequencies.filter(pl.col("rarely_of_people"))
    assert set(flagged.filter(pl.col("kind") == "descriptor")["name"]) == {"white"}
    leaning = view.tables.leans.filter((pl.col("corpus") == "web") & (pl.col("kind") == "descriptor"))
    said = dict(leaning.filter(pl.col("leaning") != "").select("name", "leaning").iter_rows())
    assert (said["blind"], said["elderly"]) == ("with she", "with he")
    assert "Deaf" not in said


def test_what_was_left_out_is_counted(view) -> None:
    columns = view.tables.corpora.select("left_out", "not_drawn", "without_text")
    assert columns.rows() == [(3, 7, 5)] * 2


def test_terms_that_were_never_found_are_still_there(view) -> None:
    tables = without_hits(view).tables
    assert tables.means["weighted_mean"].max() == 0 and tables.means["high"].min() > 0
    assert tables.axes["never_found"].sum() == len(view.table)
    assert tables.leans.is_empty() and tables.associations.is_empty()


def test_a_name_that_a_list_has_twice_counts_once_and_noun_phrases_apart() -> None:
    tables = listed_twice().tables
    rows = tables.means.filter(kind="descriptor")
    assert set(rows.filter("repeats").select("name", "group").rows()) == {
        ("buddhist", "all"),
        ("Buddhist", None),
    }
    shown = rows.filter(~pl.col("repeats"))
    assert dict(shown.select("name", "noun_phrase").iter_rows()) == {
        **{"Buddhist": False, "Wiccan": False, "Jain": False},
        "nun": True,
    }
    axis = tables.axes.row(by_predicate=pl.col("kind") == "descriptor", named=True)
    assert (axis["terms"], axis["never_found"]) == (3, 1)
    shares = [100 * 2 / 5, 100 * 1 / 5, 0.0]  # Buddhist, Wiccan, Jain among FAITHS
    assert axis["mean"] == pytest.approx(statistics.mean(shares))
    assert axis["std_all"] == axis["std_top"] == pytest.approx(statistics.stdev(shares))


def test_pairs_of_terms_that_are_spelt_the_same_are_tested_once() -> None:
    tables = listed_twice().tables
    pairs = tables.associations.filter(level="documents").select("first_name", "second_name").rows()
    assert [set(pair) for pair in pairs] == [{"Buddhist", "nun"}]
    assert tables.leans["name"].is_duplicated().sum() == 0


def test_tables_are_written_for_programs_and_for_people(view, tmp_path: Path) -> None:
    paths = view.tables.write(tmp_path)
    assert pl.read_parquet(paths["associations.parquet"]).equals(view.tables.associations)
    assert "associations.csv" not in paths
    read = pl.read_csv(paths["means.csv"])
    assert read["name"].to_list() == view.tables.means["name"].to_list()


def test_counts_of_other_terms_and_shares_that_cannot_be_are_refused(view) -> None:
    with pytest.raises(DataError, match="Use the table in the folder of the counts"):
        frequency_tables(replace(view.counts, table_hash="other"), view.table, sampled=1.0)
    for sampled in (0.0, 1.5):
        with pytest.raises(UsageError, match="above 0"):
            frequency_tables(view.counts, view.table, sampled=sampled)
