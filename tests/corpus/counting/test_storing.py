"""Counts come back from a file as they were, or not at all."""

import io
import json
from collections.abc import Callable
from pathlib import Path

import fsspec
import polars as pl
import pytest

from evenhand.corpus import CountingOptions, Counts, read_counts, write_counts
from evenhand.corpus.counting import TABLES, empty_counts
from evenhand.schema import DataError, WriteError, write_table
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
    with pytest.raises(DataError, match="does not contain counts"):
        read_counts(path)


def test_another_format_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "counts.parquet"
    monkeypatch.setattr("evenhand.corpus.counting.storing.FORMAT", 2)
    write_counts(path, empty_counts("a1", CountingOptions()))
    monkeypatch.undo()
    with pytest.raises(DataError, match="format is 2 of evenhand"):
        read_counts(path)


def test_a_store_that_refuses_is_a_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError("Access Denied")

    monkeypatch.setattr(fsspec.get_filesystem_class("memory"), "pipe_file", refuse)
    with pytest.raises(WriteError, match=r"memory://counting/x.parquet: Access Denied"):
        write_counts("memory://counting/x.parquet", empty_counts("a1"))


def about(**changed: object) -> Callable[[dict[str, bytes]], None]:
    def change(held: dict[str, bytes]) -> None:
        content = json.loads(held["about"])
        held["about"] = json.dumps(content | changed).encode()

    return change


def table(name: str, **columns: object) -> Callable[[dict[str, bytes]], None]:
    def change(held: dict[str, bytes]) -> None:
        frame = pl.read_parquet(held[name])
        lits = {column: pl.lit(value, dtype=frame.schema[column]) for column, value in columns.items()}
        content = io.BytesIO()
        frame.with_columns(**lits).write_parquet(content)
        held[name] = content.getvalue()

    return change


def dropped(held: dict[str, bytes]) -> None:
    content = io.BytesIO()
    pl.read_parquet(held["totals"]).drop("documents").write_parquet(content)
    held["totals"] = content.getvalue()


TAMPERED = {
    "a list": lambda held: held.update(about=b"[]"),
    "hardly anything": lambda held: held.update(about=b'{"format": 1}'),
    "not UTF-8": lambda held: held.update(about=b"\xff"),
    "too deep": lambda held: held.update(about=b"[" * 100_000),
    "an unknown option": about(options={"evil": 1}),
    "options of other types": about(
        options={"pairs": ["all"], "window": "3", "contexts": 1, "seed": 0, "published": False}
    ),
    "a negative option": about(
        options={"pairs": ["all"], "window": -3, "contexts": 1, "seed": 0, "published": False}
    ),
    "no table": lambda held: held.update(totals=b"PAR1junk" * 100),
    "a missing table": lambda held: held.pop("groups"),
    "a missing column": dropped,
    "nulls": table("totals", documents=None),
    "negative numbers": table("terms", hits=-1),
    "huge numbers": table("totals", documents=1 << 62),
    "an unknown fold": table("totals", fold=20),
    "fewer documents than hold a term": table("totals", documents=0),
    "a corpus of no documents": table("pairs", corpus="other"),
}


@pytest.mark.parametrize("what", TAMPERED)
def test_a_file_that_was_changed_and_sealed_again_is_refused_by_name(tmp_path: Path, what: str) -> None:
    path = tmp_path / "counts.parquet"
    write_counts(path, counts_of(DOCUMENTS, pairs=["all"]))
    frame = pl.read_parquet(path)
    held = dict(frame.iter_rows())
    TAMPERED[what](held)
    write_table(path, pl.DataFrame(list(held.items()), schema=frame.schema, orient="row"))
    with pytest.raises(DataError, match=r"counts\.parquet does not contain counts of evenhand"):
        read_counts(path)
