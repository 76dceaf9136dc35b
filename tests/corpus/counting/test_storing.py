"""Counts come back from a file as they were, or not at all."""

from pathlib import Path

import fsspec
import polars as pl
import pytest

from evenhand.corpus import CountingOptions, Counts, read_counts, write_counts
from evenhand.corpus.counting import TABLES, empty_counts
from evenhand.schema import DataError, WriteError
from tests.corpus.counting.test_counter import counts_of

DOCUMENTS = [(3, "she and mary met a deaf american woman . she was african american ."), (7, "a christian")]


def assert_equal(one: Counts, other: Counts) -> None:
    assert (one.table_hash, one.options) == (other.table_hash, other.options)
    for name, schema in TABLES.items():
        assert getattr(one, name).schema == pl.Schema(schema)
        assert getattr(one, name).equals(getattr(other, name)), name


@pytest.mark.parametrize("address", ["counts.parquet", "memory://counting/counts.parquet"])
def test_counts_come_back_as_they_were(address: str, tmp_path: Path) -> None:
    place = address if "://" in address else tmp_path / address
    counts = counts_of(DOCUMENTS, window=3, pairs=["all"])
    write_counts(place, counts)
    assert_equal(read_counts(place), counts)


def test_every_changed_or_missing_byte_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "counts.parquet"
    write_counts(path, counts_of(DOCUMENTS))
    content = path.read_bytes()
    for place in range(4, len(content), len(content) // 40):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        with pytest.raises(DataError, match=r"counts\.parquet"):
            read_counts(path)
    for size in (0, 3, 100, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:size])
        with pytest.raises(DataError, match=r"counts\.parquet"):
            read_counts(path)


def test_other_files_and_absent_ones_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be"):
        read_counts(tmp_path / "none.parquet")
    with pytest.raises(DataError, match="cannot be"):
        read_counts("memory://counting/none.parquet")
    path = tmp_path / "ages.parquet"
    pl.DataFrame({"age": [3]}).write_parquet(path)
    with pytest.raises(DataError, match="holds no counts"):
        read_counts(path)


def test_another_format_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "counts.parquet"
    monkeypatch.setattr("evenhand.corpus.counting.storing.FORMAT", 2)
    write_counts(path, empty_counts("a1", CountingOptions()))
    monkeypatch.undo()
    with pytest.raises(DataError, match="format 2 of evenhand"):
        read_counts(path)


def test_a_store_that_refuses_is_a_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError("Access Denied")

    monkeypatch.setattr(fsspec.get_filesystem_class("memory"), "pipe_file", refuse)
    with pytest.raises(WriteError, match=r"memory://counting/x.parquet: Access Denied"):
        write_counts("memory://counting/x.parquet", empty_counts("a1"))
