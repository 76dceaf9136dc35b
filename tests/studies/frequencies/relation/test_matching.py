"""Descriptors found among terms by their spelling."""

import polars as pl
import pytest

from evenhand.corpus import build_terms, count_batch
from evenhand.schema import DataError
from evenhand.studies.frequencies.relation.matching import matched
from tests.helpers.written_about import written


def descriptors(*rows: tuple[str, str]) -> pl.DataFrame:
    frame = pl.DataFrame(rows, schema=["axis", "descriptor"], orient="row")
    return frame.with_columns(bucket=pl.lit(None, pl.String), tokens=pl.lit(None, pl.Float64))


def test_spellings_are_matched_and_strangers_listed() -> None:
    corpus = written(0, 2_000)
    counts, table = corpus.counts()
    found = matched(
        descriptors(("ability", "DEAF"), ("ability", "hard-of-hearing"), ("ability", "from Atlantis")),
        counts,
        table,
    )
    assert found.frequencies["descriptor"].to_list() == ["DEAF", "hard-of-hearing"]
    assert found.frequencies["bucket"].to_list() == ["hearing", "hearing"]  # that of the term
    assert found.unmatched.rows() == [("ability", "from Atlantis")]
    assert found.total == 2_000
    deaf = sum(" deaf " in f" {text.lower().replace('.', ' ')} " for text in corpus.texts)
    assert found.frequencies["documents"][0] == deaf > 0
    halves = found.frequencies.select(pl.col("even") + pl.col("odd")).to_series()
    assert halves.to_list() == found.frequencies["documents"].to_list()


def test_the_noise_of_frequencies_shrinks_with_the_corpus() -> None:
    small, large = (
        matched(descriptors(*corpus.often), *corpus.counts())
        for corpus in (written(0, 400), written(0, 8_000))
    )
    assert small.reliability is not None and large.reliability is not None
    assert small.reliability < large.reliability
    assert large.reliability > 0.9
    assert small.never_found > large.never_found


def test_a_run_about_nobody_counted_is_refused() -> None:
    counts, table = written(0, 200).counts()
    with pytest.raises(DataError, match="None of the 1 descriptors of the run") as told:
        matched(descriptors(("age", "from Atlantis")), counts, table)
    assert "--terms" in str(told.value.hint)


def test_a_noun_for_people_behind_a_descriptor_is_not_looked_for() -> None:
    table = build_terms(["descriptors", "pronouns"])
    counts = count_batch(["A gay man and a deaf woman.", "Deaf people sing."], table)
    asked = descriptors(*(("any", name) for name in ("gay person", "deaf people", "Deaf", "plain table")))
    found = matched(asked, counts, table)
    assert found.frequencies.select("descriptor", "documents").rows() == [
        ("gay person", 1),
        ("deaf people", 2),
        ("Deaf", 2),
    ]
    assert found.unmatched["descriptor"].to_list() == ["plain table"]
