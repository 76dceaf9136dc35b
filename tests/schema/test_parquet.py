"""Parquet: a damaged file is an error and nothing worse, whoever wrote it, and a sealed one is seen to be damaged."""

import os
import random
import zlib
from pathlib import Path

import polars as pl
import pytest

from evenhand.schema import UNREADABLE, read_parquet, write_table
from evenhand.schema.parquet import Parquet, check_in_subprocess

TABLE = pl.DataFrame({"text": [f"a text {i % 7}" for i in range(300)], "n": range(300)})


def unsealed(path: Path) -> bytes:
    TABLE.write_parquet(path)
    return path.read_bytes()


def test_a_sealed_file_is_an_ordinary_one(tmp_path: Path) -> None:
    path = write_table(tmp_path / "a.parquet", TABLE)
    assert pl.read_parquet(path).equals(TABLE)
    assert pl.scan_parquet(path).select("n").collect().equals(TABLE.select("n"))
    assert read_parquet(path).equals(TABLE) and read_parquet(path, ["n"]).columns == ["n"]
    assert Parquet(path).schema == dict(TABLE.schema)
    content = path.read_bytes()
    start = content.index(b"evenhand-crc32:")
    rest = content[:start] + content[start + 23 :]
    assert int(content[start + 15 : start + 23], 16) == zlib.crc32(rest)
    assert rest == unsealed(tmp_path / "plain.parquet")


def test_every_changed_byte_of_a_sealed_file_is_seen(tmp_path: Path) -> None:
    """But in the seal itself, where it harms nothing, and in the length by which the seal is found."""
    path = write_table(tmp_path / "a.parquet", TABLE)
    content, draw = path.read_bytes(), random.Random(1)
    start = content.index(b"evenhand-crc32:")
    seal = range(start, start + 23)
    length = range(len(content) - 8, len(content) - 4)
    places = [i for i in range(len(content)) if i not in seal and i not in length]
    for place in draw.sample(places, 400):
        changed = bytearray(content)
        changed[place] ^= draw.randrange(1, 256)
        path.write_bytes(changed)
        with pytest.raises(UNREADABLE):
            read_parquet(path)


def test_what_was_not_sealed_is_read_as_before(tmp_path: Path) -> None:
    unsealed(tmp_path / "a.parquet")
    assert read_parquet(tmp_path / "a.parquet").equals(TABLE)
    assert check_in_subprocess([tmp_path / "a.parquet", tmp_path / "nowhere"]) == [None, None]


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1PAR1", b"PAR1" + b"\xff" * 8 + b"PAR1", b"text"])
def test_what_is_no_parquet_is_an_error(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.parquet").write_bytes(content)
    with pytest.raises(UNREADABLE):
        read_parquet(tmp_path / "a.parquet")
    with pytest.raises(UNREADABLE):
        read_parquet(tmp_path / "nowhere.parquet")
    os.mkfifo(tmp_path / "pipe.parquet")
    with pytest.raises(OSError, match="it is not a regular file"):
        read_parquet(tmp_path / "pipe.parquet")


def test_one_byte_that_would_end_the_process_or_panic_is_an_error_of_the_file(tmp_path: Path) -> None:
    """Places found by trying all: polars 2.1 panics at the first two and is ended by the system at the others."""
    content = unsealed(tmp_path / "plain.parquet")
    harmful = {115: "^", 118: "^", 66: "reading it ends the process", 694: "reading it ends the process"}
    files = []
    for place in harmful:
        changed = bytearray(content)
        changed[place] = 0xFF
        files.append(tmp_path / f"{place}.parquet")
        files[-1].write_bytes(changed)
    files.insert(2, tmp_path / "plain.parquet")
    told = dict(zip((file.stem for file in files), check_in_subprocess(files), strict=True))
    assert told["plain"] is None
    for file in files:
        if file.stem != "plain":
            with pytest.raises(UNREADABLE, match=harmful[int(file.stem)]):
                read_parquet(file)
    assert "signal" in (told["694"] or "")
