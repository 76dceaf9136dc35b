"""Ranks counted apart and added up are the corpus counted at once, whatever the division."""

import json
from pathlib import Path

import pytest

from evenhand.corpus.pipeline import broken_documents, count_rank, kept_ranks, merged_ranks, rank_file
from evenhand.schema import DataError

TABLES = ("totals", "terms", "groups", "pairs", "skipped")


def counted(work):
    done = [count_rank(work, rank) for rank in range(len(work.ranks))]
    return done, merged_ranks(work.folder, len(work.ranks))


def test_every_division_gives_the_same_counts(work, corpus: Path) -> None:
    _, whole = counted(work(rank_bytes=10**9))
    done, parts = counted(work(rank_bytes=5000, name="parts"))
    assert len(done) > 6
    for name in TABLES:
        assert getattr(whole, name).equals(getattr(parts, name)), name
    lines = [line for path in sorted(corpus.glob("*.jsonl")) for line in path.read_text().splitlines()]
    texts = [json.loads(line)["text"] for line in lines if line != "{broken"]
    assert whole.totals["documents"].sum() == len(texts) == sum(one.documents for one in done)
    assert broken_documents(whole) == 6 == sum(one.broken for one in done)
    assert whole.totals["corpus"].unique().sort().to_list() == ["first", "second"]


def test_a_sample_is_the_same_whatever_the_division(work) -> None:
    draws = {"sample": 0.2, "seed": 3}
    _, whole = counted(work(rank_bytes=10**9, **draws))
    done, parts = counted(work(rank_bytes=8000, name="parts", **draws))
    assert len(done) > 3
    _, other = counted(work(rank_bytes=10**9, name="other", sample=0.2, seed=4))
    for name in TABLES:
        assert getattr(whole, name).equals(getattr(parts, name)), name
    assert 20 < whole.totals["documents"].sum() < 80
    assert not whole.terms.equals(other.terms)


def test_a_rank_counted_twice_counts_once(work) -> None:
    mine = work()
    _, once = counted(mine)
    _, twice = counted(mine)
    assert once.terms.equals(twice.terms) and once.sources.equals(twice.sources)


def test_missing_and_damaged_ranks_are_refused(work) -> None:
    mine = work()
    ranks = len(mine.ranks)
    assert kept_ranks(mine.folder, ranks) == set()
    counted(mine)
    Path(rank_file(mine.folder, 1)).unlink()
    with pytest.raises(DataError, match=f"{ranks - 1} of {ranks} ranks. Missing: 1"):
        merged_ranks(mine.folder, ranks)
    count_rank(mine, 1)
    file = Path(rank_file(mine.folder, 2))
    content = bytearray(file.read_bytes())
    content[200] ^= 1
    file.write_bytes(content)
    with pytest.raises(DataError, match=r"00002\.parquet cannot be read"):
        merged_ranks(mine.folder, ranks)
