"""Every format gives back the documents that were written into it, wherever files are cut."""

import csv
import gzip
import hashlib
import io
import json
import random
import zlib
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from evenhand.corpus.reading import FOLDS, ReadingOptions, pieces, read_batches
from evenhand.schema import DataError

Read = Callable[..., object]


def as_jsonl(documents: list[str]) -> bytes:
    rows = [{"id": n, "text": text, "meta": {"body": text.upper()}} for n, text in enumerate(documents)]
    return "".join(json.dumps(row, ensure_ascii=row["id"] % 2 == 0) + "\n" for row in rows).encode()


def as_csv(documents: list[str]) -> bytes:
    written = io.StringIO()
    csv.writer(written).writerows([["id", "text"], *([n, text] for n, text in enumerate(documents))])
    return written.getvalue().encode()


def as_parquet(documents: list[str]) -> pa.Table:
    return pa.table(
        {"id": range(len(documents)), "text": documents, "meta": [{"n": 1, "body": t} for t in documents]}
    )


def in_members(content: bytes, pack: Callable[[bytes], bytes]) -> bytes:
    """Packed in three members or frames, cut anywhere, as crawls and parallel packers write them."""
    return pack(content[:1000]) + pack(content[1000:1001]) + pack(b"") + pack(content[1001:])


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": lambda content: in_members(content, gzip.compress),
    ".zst": lambda content: in_members(content, zstandard.compress),
}


@pytest.mark.parametrize("packing", PACKED)
@pytest.mark.parametrize("ending", [".jsonl", ".ndjson", ".json", ".txt", ".csv"])
def test_packed_and_plain_files_hold_the_same_documents(
    tmp_path: Path, read: Read, documents: list[str], ending: str, packing: str
) -> None:
    write = {".txt": lambda texts: "\n".join(texts).encode(), ".csv": as_csv}.get(ending, as_jsonl)
    content = write(documents)
    path = tmp_path / f"corpus{ending}{packing}"
    path.write_bytes(PACKED[packing](content))
    found = read(path)
    assert found.texts == documents
    assert found.skipped == {} and found.damage == []
    assert found.bytes_read == path.stat().st_size
    assert found.sha256 == [hashlib.sha256(path.read_bytes()).hexdigest()]
    assert found.folds == [zlib.crc32(text.encode()) % FOLDS for text in documents]
    if ending in (".jsonl", ".txt"):  # a place is the line's first byte
        assert [content[place:].split(b"\n")[0] for place in found.places] == content.rstrip(b"\n").split(
            b"\n"
        )


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.string_view(), pa.binary(), "dictionary"]
)
@pytest.mark.parametrize("rows", [300, 7])
def test_parquet_of_every_kind_of_string(
    tmp_path: Path, read: Read, documents: list[str], kind: object, rows: int
) -> None:
    table = as_parquet(documents)
    texts = table["text"].dictionary_encode() if kind == "dictionary" else table["text"].cast(kind)
    pq.write_table(table.set_column(1, "text", texts), tmp_path / "a.parquet", row_group_size=rows)
    for largest in (1 << 30, 3000, 1):
        found = read(tmp_path / "a.parquet", largest=largest)
        assert found.texts == documents
        assert found.places == list(range(300))
        assert len(found.pieces) == (1 if rows == 300 or largest > 3000 else len(found.pieces))
    assert len(found.pieces) == -(-300 // rows)


def test_columns_within_records_are_named_with_dots(tmp_path: Path, read: Read, documents: list[str]) -> None:
    (tmp_path / "a.jsonl").write_bytes(as_jsonl(documents))
    assert read(tmp_path / "a.jsonl", column="meta.body").texts == [text.upper() for text in documents]
    pq.write_table(as_parquet(documents), tmp_path / "a.parquet")
    assert read(tmp_path / "a.parquet", column="meta.body").texts == documents
    (tmp_path / "dotted.jsonl").write_text('{"a.b": "dotted"}\n{"a": {"b": "nested"}}\n{"a": [1]}\n')
    found = read(tmp_path / "dotted.jsonl", column="a.b")
    assert (found.texts, found.skipped) == (["dotted", "nested"], {"no_text": 1})


@pytest.mark.parametrize(
    ("column", "there"),
    [
        ("txt", "Found: id, text, meta.body. Name the column of the text: --column text"),
        ("meta", "meta.body"),
    ],
)
def test_a_wrong_column_lists_those_there(
    tmp_path: Path, documents: list[str], column: str, there: str
) -> None:
    (tmp_path / "a.jsonl").write_bytes(as_jsonl(documents))
    with pytest.raises(DataError) as refused:
        pieces([str(tmp_path / "a.jsonl")], column=column)
    assert there in str(refused.value)
    pq.write_table(as_parquet(documents), tmp_path / "a.parquet")
    with pytest.raises(
        DataError, match=r"Found: id, text, meta\.n, meta\.body\. Name the column of the text: --column "
    ):
        pieces([str(tmp_path / "a.parquet")], column=column)
    with pytest.raises(DataError, match=r"a\.parquet: the column 'id' has the type int64, not text"):
        pieces([str(tmp_path / "a.parquet")], column="id")
    (tmp_path / "a.csv").write_bytes(as_csv(documents))
    with pytest.raises(DataError, match="Found: id, text"):
        pieces([str(tmp_path / "a.csv")], column=column)


@pytest.mark.parametrize("indent", [None, 1, 0])
@pytest.mark.parametrize("rows", [1, 5])
def test_a_list_in_json_is_no_json_lines(tmp_path: Path, indent: int | None, rows: int) -> None:
    (tmp_path / "a.json").write_text(json.dumps([{"text": "x"}] * rows, indent=indent))
    with pytest.raises(DataError, match="jq"):
        pieces([str(tmp_path / "a.json")])


def test_what_is_no_json_at_all_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("plain\ntext\n")
    with pytest.raises(DataError, match="none of its first 2 lines is JSON"):
        pieces([str(tmp_path / "a.jsonl")])


def test_what_only_pythons_reader_of_json_takes_is_read(tmp_path: Path, read: Read) -> None:
    lines = [
        '{"text": "a", "p": NaN}',
        '{"text": "b \\ud83d\\ude42"}',
        '{"text": "lone \\ud83d"}',
        '{"text": null}',
    ]
    (tmp_path / "a.jsonl").write_text("\ufeff" + "\n".join(lines))
    found = read(tmp_path / "a.jsonl")
    assert found.texts == ["a", "b 🙂"]
    assert found.skipped == {"invalid_utf8": 1, "no_text": 1}


def test_paragraphs_end_at_blank_lines(tmp_path: Path, read: Read) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbf \r\none\r\ntwo\n\n \t\n\nthree\n")
    found = read(tmp_path / "a.txt", documents="paragraph")
    assert found.texts == ["one\ntwo", "three"]
    assert found.places == [6, 20]


def test_a_file_is_a_document_in_a_folder_of_books(tmp_path: Path, read: Read) -> None:
    for name in ("emma", "persuasion"):
        (tmp_path / f"{name}.txt").write_text(f"{name}\n\nby Jane Austen\n")
    found = read(tmp_path)
    assert found.texts == ["emma\n\nby Jane Austen\n", "persuasion\n\nby Jane Austen\n"]
    assert {piece.kind for piece in found.pieces} == {"text/file"}
    assert len(read(tmp_path, documents="line").texts) == 4
    assert len(read(tmp_path / "emma.txt").texts) == 2


@pytest.mark.parametrize("kind", ["jsonl", "line", "paragraph"])
def test_every_cut_gives_every_document_once(tmp_path: Path, kind: str) -> None:
    """Brute force: a file in two pieces, divided at each of its bytes."""
    path = tmp_path / ("a.jsonl" if kind == "jsonl" else "a.txt")
    texts = {
        "jsonl": '{"text": "é"}\n\n{"text": "女"}\r\n{"text": 3}\nbroken\n{"text": "last"}',
        "line": "\ufeffé\n\n女 x\r\n  \nlast",
        "paragraph": "\ufeff\n\né\nf\n\n \n女 x\r\n\r\n  \nlast\nline\n\t\n",
    }
    path.write_bytes(texts[kind].encode())
    documents = "auto" if kind == "jsonl" else kind
    (whole,) = pieces([str(path)], documents=documents)

    def said(*parts: object) -> tuple[list[object], dict[str, int]]:
        batches = [batch for part in parts for batch in read_batches(part)]
        found = [each for batch in batches for each in zip(batch.texts, batch.places, strict=True)]
        skipped: dict[str, int] = {}
        for batch in batches:
            for reason, number in batch.skipped.items():
                skipped[reason] = skipped.get(reason, 0) + number
        return found, skipped

    expected = said(whole)
    assert len(expected[0]) == {"jsonl": 3, "line": 3, "paragraph": 3}[kind]
    for first in range(whole.size + 1):
        cut = random.Random(first).randint(first, whole.size)
        bounds = sorted({0, first, cut, whole.size})
        parts = [replace(whole, first=a, last=b) for a, b in pairwise(bounds)]
        assert said(*parts) == expected, bounds


def test_batches_hold_about_as_much_as_asked(tmp_path: Path, documents: list[str]) -> None:
    (tmp_path / "a.jsonl").write_bytes(as_jsonl(documents))
    (piece,) = pieces([str(tmp_path / "a.jsonl")])
    batches = list(read_batches(piece, ReadingOptions(batch_bytes=2000)))
    sizes = [sum(map(len, batch.texts)) for batch in batches]
    assert all(2000 <= size <= 2000 + max(map(len, documents)) for size in sizes[:-1])
    assert [batch.last for batch in batches] == [False] * (len(batches) - 1) + [True]
