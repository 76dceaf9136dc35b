"""Dumps of every kind and in every state: what is found, what is counted, and memory that does not grow."""

import gzip
import json
import re
import tracemalloc
from io import BytesIO
from pathlib import Path

import polars as pl
import pytest
import zstandard
from hypothesis import given, settings, strategies as st

from evenhand.prompts.redditbias.dumps import SEARCHED, _DumpSearch, dump_files, found_comments, search_dump
from evenhand.prompts.redditbias.queries import Terms
from evenhand.prompts.redditbias.unpacking import line_blocks
from evenhand.schema import DataError

TARGETS, ATTRIBUTES = ['"reds are"', "red fan*"], ["loud*", "rude"]
ROWS = [
    {"id": "a", "body": "Reds are loud.", "author": "x"},
    {"id": "b", "body": "Blues are loud."},
    {"id": "c", "body": "A red\nfans\nsection, so rude & louder"},
    {"id": "a", "body": "Reds are rude: the same id again"},
    {"id": "d", "body": "reds are many"},
]


def written(path: Path, content: bytes) -> Path:
    match path.suffix:
        case ".gz":
            content = gzip.compress(content)
        case ".zst":
            content = zstandard.ZstdCompressor().compress(content)
    path.write_bytes(content)
    return path


def as_lines(rows: list[dict[str, str]]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def searched(path: Path) -> dict[str, object]:
    table = search_dump(path, TARGETS, ATTRIBUTES)
    assert dict(table.schema) == pl.DataFrame(schema=SEARCHED).schema and table.height == 1
    return table.row(0, named=True)


@pytest.mark.parametrize("name", ["x.jsonl", "x.ndjson", "x.jsonl.gz", "x.zst", "x.jsonl.zst"])
def test_kinds_of_files_give_the_same(tmp_path: Path, name: str) -> None:
    row = searched(written(tmp_path / name, as_lines(ROWS)))
    assert row == {
        "dump": name,
        "state": "complete",
        "lines": 5,
        "broken": 0,
        "without_fields": 0,
        "matched": 2,
        "comments": [
            {"id": "a", "body": "Reds are loud.", "target": '"reds are"', "attribute": "loud*"},
            {"id": "c", "body": ROWS[2]["body"], "target": "red fan*", "attribute": "loud*"},
        ],
    }


def test_several_frames_and_members_in_one_file(tmp_path: Path) -> None:
    halves = [as_lines(ROWS[:1]), as_lines(ROWS[2:])]
    (tmp_path / "x.zst").write_bytes(b"".join(zstandard.ZstdCompressor().compress(h) for h in halves))
    (tmp_path / "x.gz").write_bytes(b"".join(map(gzip.compress, halves)))
    for name in ("x.zst", "x.gz"):
        assert (searched(tmp_path / name)["lines"], searched(tmp_path / name)["matched"]) == (4, 2)


@pytest.mark.parametrize("ending", [".zst", ".gz"])
def test_a_packed_file_that_ends_in_the_middle(tmp_path: Path, ending: str) -> None:
    many = as_lines([{"id": str(n), "body": f"reds are loud {n * 7919 % 1009}"} for n in range(9_000)])
    path = written(tmp_path / f"x{ending}", many)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    row = searched(path)
    assert row["state"] == "truncated"
    assert 0 < row["matched"] == row["lines"] < 9_000
    path.write_bytes(whole + b"no more of it")
    row = searched(path)
    assert (row["state"], row["matched"]) == ("truncated", 9_000)


def test_lines_that_end_in_the_middle(tmp_path: Path) -> None:
    row = searched(written(tmp_path / "x.jsonl", as_lines(ROWS)[:-20]))
    assert (row["state"], row["lines"], row["broken"]) == ("truncated", 4, 0)
    row = searched(written(tmp_path / "x.jsonl", as_lines(ROWS)[:-1]))  # only the line feed is missing
    assert (row["state"], row["lines"]) == ("complete", 5)


def test_states_and_counts(tmp_path: Path) -> None:
    assert searched(written(tmp_path / "x.jsonl", b""))["state"] == "empty"
    assert searched(written(tmp_path / "x.gz", b"\n\n"))["state"] == "empty"
    row = searched(written(tmp_path / "x.jsonl", as_lines([{"id": "s", "selftext": "reds are loud"}] * 3)))
    assert (row["state"], row["lines"], row["without_fields"]) == ("no comments", 3, 3)
    bad = b'not JSON\n{"id": "x", "body": "reds are loud",}\n[1]\n{"id": 3, "body": "reds are loud"}\n'
    row = searched(written(tmp_path / "x.jsonl", as_lines(ROWS) + bad + b"\n"))
    assert (row["state"], row["lines"], row["broken"], row["without_fields"]) == ("complete", 9, 3, 1)
    assert row["matched"] == 2


def test_letters_that_no_table_holds(tmp_path: Path) -> None:
    row = searched(written(tmp_path / "x.jsonl", b'{"id": "e", "body": "reds are loud \\ud800"}\n'))
    assert row["comments"][0]["body"] == "reds are loud �"


def test_a_line_of_many_megabytes_is_broken_and_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evenhand.prompts.redditbias.unpacking.LONGEST_LINE", 1000)
    monkeypatch.setattr("evenhand.prompts.redditbias.unpacking.UNPACKED_AT_ONCE", 300)
    long = {"id": "l", "body": "reds are loud " * 500}
    row = searched(written(tmp_path / "x.jsonl", as_lines([long, *ROWS])))
    assert (row["lines"], row["broken"], row["matched"]) == (6, 1, 2)


def test_files_that_cannot_be_dumps(tmp_path: Path) -> None:
    for name, said in (("x.zst", "is not a zstd file"), ("x.gz", "is not a gzip file")):
        (tmp_path / name).write_bytes(b"plain text")
        with pytest.raises(DataError, match=said):
            searched(tmp_path / name)
    for place, said in (
        (tmp_path / "none.zst", "File not found"),
        (written(tmp_path / "x.csv", b"a"), "unsupported file type '.csv'"),
    ):
        with pytest.raises(DataError, match=said):
            dump_files([place])
    (tmp_path / "folder").mkdir()
    with pytest.raises(DataError, match="contains no dumps"):
        dump_files([tmp_path / "folder"])
    assert [path.name for path in dump_files([tmp_path])] == ["x.gz", "x.zst"]


def test_ids_of_all_dumps_stand_once(tmp_path: Path) -> None:
    tables = [
        search_dump(written(tmp_path / name, as_lines(rows)), TARGETS, ATTRIBUTES)
        for name, rows in (("1.jsonl", ROWS[:2]), ("2.jsonl", ROWS[1:]), ("3.jsonl", []))
    ]
    found = found_comments(pl.concat(tables))
    assert found.columns == ["dump", "id", "body", "target", "attribute"]
    assert found.select("dump", "id").rows() == [("1.jsonl", "a"), ("2.jsonl", "c")]


WORDS = ["reds", "are", "red", "fans", "loud", "rude", "Louder", "blue", "\n"]


@settings(max_examples=30)
@given(st.lists(st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join), max_size=30))
def test_whole_blocks_find_what_single_lines_do(texts: list[str]) -> None:
    rows = [{"id": str(n), "body": text, "edited": False} for n, text in enumerate(texts)]
    searches = [_DumpSearch(Terms(TARGETS), Terms(ATTRIBUTES)) for _ in range(2)]
    content = as_lines(rows)
    with BytesIO(content) as handle:
        whole = list(line_blocks(handle, Path("x.jsonl")))
    for block in whole:
        searches[0].block(block)
    for line in content.splitlines(keepends=True):
        searches[1].block(b"\n" + line)  # a blank line is what keeps a block from being plain
    assert searches[0].found == searches[1].found and searches[0].counts == searches[1].counts
    expected = [
        row["id"] for row in rows
        if re.search(r"\breds\W+are\b|(?=.*\bred\b).*\bfan", row["body"], re.S)
        and re.search(r"\bloud|\brude\b", row["body"], re.I)
    ]  # fmt: skip
    assert list(searches[0].found) == expected


def test_memory_does_not_grow_with_the_dump(tmp_path: Path) -> None:
    row = json.dumps({"id": "b", "body": "blues are quiet " * 20}).encode() + b"\n"
    peaks = []
    for size in (500, 8_000):
        path = written(tmp_path / f"{size}.zst", row * size)
        tracemalloc.start()
        search_dump(path, TARGETS, ATTRIBUTES)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0] + (1 << 20)  # 16 times as many lines, 3 MB


def test_a_byte_order_mark_hides_no_comment(tmp_path: Path) -> None:
    rows = as_lines([{"id": "1", "body": "Muslims are violent"}, {"id": "2", "body": "Muslims are violent"}])
    assert (
        search_dump(written(tmp_path / "a.jsonl", b"\xef\xbb\xbf" + rows), ["muslims"], ["violent"])[
            "matched"
        ][0]
        == 2
    )


def test_a_window_that_does_not_fit_into_memory_is_said_to_be_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full:
        def __init__(self, **_: object) -> None: ...

        def stream_reader(self, *_: object, **__: object) -> "Full":
            return self

        def read1(self, _: int) -> bytes:
            raise zstandard.ZstdError("zstd decompress error: Allocation error : not enough memory")

    frames = zstandard.ZstdCompressor(
        compression_params=zstandard.ZstdCompressionParameters(window_log=27, enable_ldm=True)
    ).compressobj()
    path = tmp_path / "a.zst"
    path.write_bytes(frames.compress(b"{}\n" * 100) + frames.flush())
    monkeypatch.setattr(zstandard, "ZstdDecompressor", Full)
    with pytest.raises(DataError, match="window of 134 MB does not fit into memory"):
        search_dump(path, ["a"], ["b"])
