"""What is broken is counted by its reason and named; what stands before it, and beside it, is read."""

import gzip
import json
import os
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

import evenhand.corpus.reading.formats.lines as lines
import evenhand.corpus.reading.formats.plain as plain
import evenhand.corpus.reading.unpacking as unpacking
from evenhand.corpus.reading import ReadingOptions, pieces, read_batches
from evenhand.schema import DataError

Read = Callable[..., Any]
PACKERS: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".zst": zstandard.compress}


def as_jsonl(documents: list[str]) -> bytes:
    return "".join(json.dumps({"text": text}) + "\n" for text in documents).encode()


@pytest.mark.parametrize("ending", PACKERS)
def test_what_comes_before_a_truncation_counts(
    tmp_path: Path, read: Read, documents: list[str], ending: str
) -> None:
    content = as_jsonl(documents)
    packed = PACKERS[ending](content[:20_000]) + PACKERS[ending](content[20_000:])
    whole = len(PACKERS[ending](content[:20_000]))
    path = tmp_path / f"a.jsonl{ending}"
    seen = set()
    for cut in [3, 30, whole - 1, whole + 2, (whole + len(packed)) // 2, len(packed) - 1]:
        path.write_bytes(packed[:cut])
        found = read(path)
        seen.add(len(found.texts))
        assert found.texts == documents[: len(found.texts)], cut
        assert found.skipped == {"truncated": 1}, cut
        assert (
            found.damage == [found.damage[0]]
            and str(path) in found.damage[0]
            and "it ends within" in found.damage[0]
        )
    assert len(seen) > (3 if ending == ".gz" else 1)


@pytest.mark.parametrize("ending", PACKERS)
def test_damage_within_ends_a_file_and_is_counted(
    tmp_path: Path, read: Read, documents: list[str], ending: str
) -> None:
    content = as_jsonl(documents)
    packed = bytearray(PACKERS[ending](content[:20_000]) + PACKERS[ending](content[20_000:]))
    place = len(PACKERS[ending](content[:20_000]))
    packed[place : place + 2] = b"??"
    (tmp_path / f"a.jsonl{ending}").write_bytes(packed)
    found = read(tmp_path / f"a.jsonl{ending}")
    assert found.texts == documents[: content[:20_000].count(b"\n")]
    assert found.skipped == {"unreadable": 1}


def test_padding_behind_gzip_is_none_of_the_content(tmp_path: Path, read: Read, documents: list[str]) -> None:
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(as_jsonl(documents)) + bytes(600_000))
    found = read(tmp_path / "a.jsonl.gz")
    assert (found.texts, found.skipped) == (documents, {})


def test_skippable_frames_of_zstd_are_skipped(tmp_path: Path, read: Read, documents: list[str]) -> None:
    skipped = b"\x50\x2a\x4d\x18" + (5).to_bytes(4, "little") + b"hello"
    (tmp_path / "a.jsonl.zst").write_bytes(skipped + zstandard.compress(as_jsonl(documents)) + skipped)
    assert read(tmp_path / "a.jsonl.zst").texts == documents


def test_a_window_that_does_not_fit_is_named(tmp_path: Path, read: Read, documents: list[str]) -> None:
    parameters = zstandard.ZstdCompressionParameters(window_log=28, write_content_size=False)
    packer = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    (tmp_path / "a.jsonl.zst").write_bytes(packer.compress(as_jsonl(documents)) + packer.flush())
    found = read(tmp_path / "a.jsonl.zst")
    assert (found.texts, found.skipped) == ([], {"unreadable": 1})
    assert "zstd -d --long=31" in found.damage[0]


@pytest.mark.parametrize("ending", [".jsonl.gz", ".txt.zst"])
def test_a_bomb_does_not_fill_the_memory(
    tmp_path: Path, read: Read, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    monkeypatch.setattr(lines, "LONGEST", 1 << 20)
    bomb = b'{"text": "before"}\n' + b"x" * 100_000_000 + b'\n{"text": "behind"}\n'
    pack = gzip.compress if ending.endswith(".gz") else zstandard.compress
    packed = pack(bomb, 3)
    del bomb
    assert len(packed) < 1_000_000
    (tmp_path / f"a{ending}").write_bytes(packed)
    tracemalloc.start()
    found = read(tmp_path / f"a{ending}")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(found.texts) == 2 and found.skipped == {"too_long": 1}
    assert peak < 80_000_000


def test_rows_of_parquet_that_repeat_a_long_text_hold_it_once(tmp_path: Path) -> None:
    """300 bytes of rows that would be 10 GB of text."""
    column = pa.DictionaryArray.from_arrays(pa.array([0] * 5000, pa.int32()), ["x" * 2_000_000])
    pq.write_table(
        pa.table({"text": column}),
        tmp_path / "a.parquet",
        store_schema=False,
        dictionary_pagesize_limit=1 << 30,
    )
    (piece,) = pieces([str(tmp_path / "a.parquet")])
    before = pa.total_allocated_bytes()
    reading = read_batches(piece)
    assert [len(text) for _ in range(3) for text in next(reading).texts] == [2_000_000] * 6
    assert pa.total_allocated_bytes() - before < 50_000_000


def test_lines_that_are_too_long_are_counted_by_one_piece(
    tmp_path: Path, read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (lines, plain):
        monkeypatch.setattr(module, "LONGEST", 50)
    monkeypatch.setattr(unpacking, "UNPACKED_AT_ONCE", 7)
    monkeypatch.setattr(lines, "UNPACKED_AT_ONCE", 7)
    (tmp_path / "a.txt").write_text("one\n" + "y" * 51 + "\n" + "z" * 50 + "\n" + "w" * 200)
    for largest in (1000, 100, 30, 5):
        found = read(tmp_path / "a.txt", largest=largest)
        assert (found.texts, found.skipped) == (["one", "z" * 50], {"too_long": 2})
        found = read(tmp_path / "a.txt", largest=largest, documents="paragraph")
        assert (found.texts, found.skipped) == ([], {"too_long": 1})
    assert read(tmp_path / "a.txt", documents="file").skipped == {"too_long": 1}


def test_lines_that_are_none_are_counted_by_reason(tmp_path: Path, read: Read) -> None:
    rows = [
        b'{"text": "a"}',
        b"{broken",
        b'{"text": "\xff"}',
        b'{"other": 1}',
        b'{"text": " \\n"}',
        b"[1]",
        b"",
    ]
    (tmp_path / "a.jsonl").write_bytes(b"\n".join(rows) + b'\n{"text": "z"}\n{"text": "cut o')
    found = read(tmp_path / "a.jsonl")
    assert found.texts == ["a", "z"]
    assert found.skipped == {"not_json": 2, "invalid_utf8": 1, "no_text": 2, "empty": 2}


def test_text_that_is_no_utf8_is_left_out_and_not_replaced(tmp_path: Path, read: Read) -> None:
    (tmp_path / "a.txt").write_bytes("é\n".encode() * 600 + b"caf\xe9\nnul \0 here\n\nlast")
    found = read(tmp_path / "a.txt")
    assert found.texts == ["é"] * 600 + ["last"]
    assert found.skipped == {"invalid_utf8": 1, "binary": 1, "empty": 1}
    (tmp_path / "a.csv").write_bytes(b"text,n\ncaf\xe9,1\nok,2\nshort\n")
    found = read(tmp_path / "a.csv")
    assert (found.texts, found.skipped) == (["ok", "short"], {"invalid_utf8": 1})


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"PAR1" + bytes(3000), "Parquet"),
        (gzip.compress(os.urandom(3000)), "gzip"),
        ("a text in another code\n".encode("utf-16") * 200, "UTF-16"),
        (b"\x7fELF" + bytes(range(256)) * 20, "binary"),
    ],
)
@pytest.mark.parametrize("name", ["a.txt", "a.jsonl"])
def test_a_file_that_is_no_text_counts_once(
    tmp_path: Path, read: Read, content: bytes, told: str, name: str
) -> None:
    (tmp_path / name).write_bytes(content)
    for largest in (1 << 20, 500):
        found = read(tmp_path / name, largest=largest)
        assert (found.texts, found.skipped) == ([], {"binary": 1})
        assert told in found.damage[0]


def test_parquet_without_its_end_is_counted(tmp_path: Path, read: Read, documents: list[str]) -> None:
    pq.write_table(pa.table({"text": documents}), tmp_path / "a.parquet")
    content = (tmp_path / "a.parquet").read_bytes()
    for cut in (1, 10, len(content) // 2, len(content) - 1):
        (tmp_path / "a.parquet").write_bytes(content[:cut])
        found = read(tmp_path / "a.parquet", largest=100)
        assert (found.texts, found.skipped) == ([], {"truncated": 1}), cut
        assert "it is incomplete" in found.damage[0]


def test_a_damaged_row_group_loses_its_own_rows(tmp_path: Path, read: Read, documents: list[str]) -> None:
    table = pa.table({"text": documents})
    pq.write_table(
        table, tmp_path / "a.parquet", row_group_size=100, compression="zstd", use_dictionary=False
    )
    about = pq.ParquetFile(tmp_path / "a.parquet").metadata.row_group(1).column(0)
    content = bytearray((tmp_path / "a.parquet").read_bytes())
    start, end = about.data_page_offset, about.data_page_offset + about.total_compressed_size
    content[start + 40 : end] = bytes(end - start - 40)
    (tmp_path / "a.parquet").write_bytes(content)
    for largest in (1 << 20, 100):
        found = read(tmp_path / "a.parquet", largest=largest)
        assert found.texts == documents[:100] + documents[200:]
        assert found.skipped == {"unreadable": 100}
        assert found.damage and "1 of its row groups could not" in found.damage[0]


def test_strings_of_parquet_that_are_no_utf8_are_counted(tmp_path: Path, read: Read) -> None:
    values = pa.array([b"one", b"\xff", None, b"  ", "é".encode()], pa.binary())
    texts = pa.StringArray.from_buffers(5, values.buffers()[1], values.buffers()[2], values.buffers()[0])
    pq.write_table(pa.table({"text": texts}), tmp_path / "a.parquet")
    found = read(tmp_path / "a.parquet")
    assert found.texts == ["one", "é"]
    assert found.skipped == {"invalid_utf8": 1, "no_text": 1, "empty": 1}


def test_a_later_file_without_the_column_is_counted(tmp_path: Path, read: Read) -> None:
    pq.write_table(pa.table({"text": ["a", "b"]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"other": ["a", "b", "c"]}), tmp_path / "b.parquet")
    found = read(tmp_path)
    assert (found.texts, found.skipped) == (["a", "b"], {"no_text": 3})


def test_empty_shards_hold_nothing(tmp_path: Path, read: Read) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "a"}\n')
    for name in ("b.jsonl", "c.jsonl.gz", "d.jsonl.zst", "e.parquet", "f.warc.gz", "g.csv", "h.txt"):
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "i.jsonl.gz").write_bytes(gzip.compress(b""))
    (tmp_path / "j.jsonl.zst").write_bytes(zstandard.compress(b""))
    pq.write_table(pa.table({"text": pa.array([], pa.string())}), tmp_path / "k.parquet")
    found = read(tmp_path)
    assert (found.texts, found.skipped, found.damage) == (["a"], {}, [])
    assert sum(batch.last for batch in found.batches) == 11


def test_a_file_that_changed_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "a"}\n' * 10)
    (piece,) = pieces([str(path)])
    os.utime(path, ns=(1, 1))
    with pytest.raises(DataError, match="has changed since the work was planned"):
        list(read_batches(piece))
    (piece,) = pieces([str(path)])
    reading = read_batches(piece, ReadingOptions(batch_bytes=1))
    next(reading)
    with path.open("a") as handle:
        handle.write('{"text": "b"}\n')
    with pytest.raises(DataError, match="has changed since the work was planned"):
        list(reading)
    path.unlink()
    with pytest.raises(DataError, match=r"a\.jsonl was there when the work was planned"):
        list(read_batches(piece))


def test_a_file_that_may_not_be_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "a"}\n')

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)  # root may read everything
    with pytest.raises(DataError, match="No permission to read") as refused:
        pieces([str(tmp_path / "a.jsonl")])
    assert "permission" in str(refused.value.hint)


@pytest.mark.parametrize("level", [zlib.Z_NO_COMPRESSION, 9])
def test_gzip_of_any_kind_is_unpacked_whole(tmp_path: Path, read: Read, level: int) -> None:
    text = "line of some length\n" * 20_000
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(text.encode(), level))
    assert len(read(tmp_path / "a.txt.gz").texts) == 20_000


def test_complete_lines_count_though_the_checksum_behind_them_is_wrong(tmp_path: Path, read: Read) -> None:
    texts = [f"document {number}" for number in range(3000)]
    content = bytearray(gzip.compress("".join(f'{{"text": "{text}"}}\n' for text in texts).encode()))
    content[-8] ^= 1
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(content)
    found = read(str(path))
    assert found.texts == texts
    assert found.skipped == {"unreadable": 1} and "incorrect data check" in found.damage[0]


def test_a_quotation_mark_that_is_never_closed_is_damage(tmp_path: Path, read: Read) -> None:
    path = tmp_path / "a.csv"
    rows = "".join(f'"number, {number}"\n' for number in range(100))
    for ending in ("", "\n"):
        path.write_text("text\n" + rows + '"never closed\n' + "swallowed\n" * 99 + "swallowed" + ending)
        found = read(str(path))
        assert found.texts == [f"number, {number}" for number in range(100)]
        assert found.skipped == {"unreadable": 1}
        size = path.stat().st_size
        assert f"is never closed; {size - 5 - len(rows):,} of its {size:,} bytes are lost" in found.damage[0]
        path.write_text("text\n" + rows.removesuffix("\n") + ending)
        assert len(read(str(path)).texts) == 100 and read(str(path)).damage == []
