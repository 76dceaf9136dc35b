"""Shares and rates of terms and groups: against counting by a loop; He:She as the paper prints it."""

import re

import numpy as np
import polars as pl
import pytest

from evenhand.measures.frequencies.shares import group_shares, share_ratios, term_frequencies
from evenhand.schema import DataError, UsageError
from tests.measures.frequencies.dealt import drawn_documents, terms_of, totals_of

SHARES = (0.4, 0.05, 0.002, 0.0)


@pytest.fixture(scope="module")
def counted():
    documents, folds = drawn_documents(1000, SHARES, seed=1)
    return documents, totals_of(documents, folds, words=50), terms_of(documents, folds)


def test_shares_and_rates_are_those_of_a_loop(counted) -> None:
    documents, totals, terms = counted
    table = term_frequencies(totals, terms, n_terms=4)
    assert table.height == 4
    for row in table.to_dicts():
        held = sum(row["term"] in document for document in documents)
        hits = sum(document.count(row["term"]) for document in documents)
        assert row["documents"] == held and row["share"] == pytest.approx(held / 10)
        assert row["hits"] == hits and row["per_million"] == pytest.approx(1e6 * hits / 50_000)
        assert row["share_low"] <= row["share"] <= row["share_high"]


def test_a_term_that_was_never_found_has_a_limit_above_nothing(counted) -> None:
    _, totals, terms = counted
    row = term_frequencies(totals, terms, n_terms=4).row(3, named=True)
    assert (row["documents"], row["share"], row["share_low"], row["per_million"]) == (0, 0.0, 0.0, 0.0)
    assert row["share_high"] == pytest.approx(100 * (1 - 0.025 ** (1 / 1000)))
    assert row["per_million_low"] is None and row["per_million_high"] is None


def test_corpora_are_kept_apart(counted) -> None:
    _, totals, terms = counted
    both = [pl.concat([frame, frame.with_columns(corpus=pl.lit("b"))]) for frame in (totals, terms)]
    table = term_frequencies(*both, n_terms=4)
    first, second = table.partition_by("corpus")
    assert first.drop("corpus").equals(second.drop("corpus"))


def test_a_term_beyond_the_table_is_refused(counted) -> None:
    _, totals, terms = counted
    with pytest.raises(UsageError, match="term number 2, but n_terms=2"):
        term_frequencies(totals, terms, n_terms=2)
    with pytest.raises(DataError, match="words"):
        term_frequencies(totals.drop("words"), terms, n_terms=4)


def groups(counts: dict[str, list[int]]) -> pl.DataFrame:
    rows = [
        ("a", fold, "pronoun", "pronouns", group, n, 2 * n, n)
        for group, each in counts.items()
        for fold, n in enumerate(each)
    ]
    columns = ["corpus", "fold", "kind", "axis", "group", "documents", "hits", "sentences"]
    return pl.DataFrame(rows, schema=columns, orient="row")


def test_groups_and_their_ratio() -> None:
    rng = np.random.default_rng(2)
    totals = pl.DataFrame({"corpus": "a", "fold": range(20), "documents": 500, "words": 9000})
    counts = {"she": rng.binomial(500, 0.1, 20).tolist(), "he": rng.binomial(500, 0.3, 20).tolist()}
    found = groups(counts)
    shares = group_shares(totals, found)
    assert dict(shares.select("group", "documents").iter_rows()) == {
        name: sum(n) for name, n in counts.items()
    }
    ratio = share_ratios(totals, found, of="he", to="she").row(0, named=True)
    assert ratio["ratio"] == pytest.approx(sum(counts["he"]) / sum(counts["she"]))
    assert ratio["ratio_low"] < 3.0 < ratio["ratio_high"] < 3.5


def test_a_ratio_to_nothing_is_none() -> None:
    totals = pl.DataFrame({"corpus": "a", "fold": range(2), "documents": 500, "words": 9000})
    row = share_ratios(totals, groups({"he": [3, 4]}), of="he", to="she").row(0, named=True)
    assert row["ratio"] is None and row["ratio_low"] is None


@pytest.mark.parity
def test_he_to_she_is_the_ratio_of_the_papers_shares(shared) -> None:
    text = (shared / "papers" / "002_0a1dbb3f33928b4d.txt").read_text()
    rows = re.findall(r"^\S.*? ([\d,]{6,}) ([\d.]+)% ([\d.]+)% ([\d.]+)% ([\d.]{6})$", text, re.MULTILINE)
    assert len(rows) == 4
    for documents, she, he, _, printed in rows:
        n = int(documents.replace(",", ""))
        counts = {"she": [round(n * float(she) / 100)], "he": [round(n * float(he) / 100)]}
        totals = pl.DataFrame({"corpus": "a", "fold": [0], "documents": [n], "words": [n]})
        ratio = share_ratios(totals, groups(counts), of="he", to="she")["ratio"][0]
        assert ratio == pytest.approx(float(printed), rel=0.005 / float(she) + 0.005 / float(he))
