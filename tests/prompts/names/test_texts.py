"""Our own files: personas that say nothing about gender or work, and occupations with the shares of their rows."""

import re
from pathlib import Path

import polars as pl
import pytest

from evenhand.prompts.names import load_names, load_personas, occupations

GENDERED = {
    "he", "she", "him", "her", "his", "hers", "man", "woman", "boy", "girl", "wife", "husband", "mother", "father",
    "mom", "dad", "sister", "brother", "daughter", "son", "lady", "guy", "girlfriend", "boyfriend",
}  # fmt: skip


def test_personas_say_no_gender_name_or_occupation() -> None:
    personas = load_personas()
    assert len(personas) == len(set(personas)) >= 40 and all(len(one.split("\n")) == 2 for one in personas)
    words = set(re.findall(r"[a-z]+", " ".join(personas).lower()))
    work = occupations()
    assert not words & (set(work["singular"]) | set(work["plural"]))
    assert not words & GENDERED and not words & set(load_names()["name"].str.to_lowercase())


def test_occupations_are_sixty_words_with_a_share() -> None:
    table = occupations()
    assert table.height == table["occupation"].n_unique() == 60
    assert table["share_women"].is_between(0, 100).all() and table["plural"].str.ends_with("s").sum() == 59
    told = dict(table.select("occupation", "share_women").iter_rows())
    assert told["plumber"] < 5 < 85 < told["nurse"]
    assert table["share"].equals(table["share_women"].alias("share"))


@pytest.mark.parity
def test_shares_and_titles_are_the_owners(shared: Path) -> None:
    rows = pl.read_csv(shared / "data/occupations/bls_cpsaat11_2020.csv")
    told = occupations().join(rows, left_on="bls_row", right_on="occupation", how="left")
    assert told["share_women"].equals(told["pct_women"].alias("share_women"))
    titles = pl.read_csv(shared / "data/occupations/winogender_occupations_stats.tsv", separator="\t")
    assert set(titles["occupation"]) == set(told["occupation"])
