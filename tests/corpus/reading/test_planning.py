"""What users name is found: names of corpora, folders, patterns; clashes and empty sources are errors."""

import json
import os
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from evenhand.corpus.reading import pieces, read_batches, survey
from evenhand.corpus.reading.sources import parse_source
from evenhand.corpus.reading.stores import get_scheme
from evenhand.schema import DataError, UsageError


def write(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"text": name}) + "\n")


@pytest.mark.parametrize(
    ("given", "corpus", "address"),
    [
        ("wiki=data/wiki.jsonl", "wiki", "data/wiki.jsonl"),
        ("my corpus=s3://bucket/a=b/*.parquet", "my corpus", "s3://bucket/a=b/*.parquet"),
        ("s3://bucket/lang=en/part-0001.parquet", "lang=en", "s3://bucket/lang=en/part-0001.parquet"),
        ("data/c4-train.00001-of-01024.json.gz", "c4-train", "data/c4-train.00001-of-01024.json.gz"),
        ("data/c4/en/*.json.gz", "en", "data/c4/en/*.json.gz"),
        ("data/c4/**/x.jsonl", "c4", "data/c4/**/x.jsonl"),
        ("books/", "books", "books/"),
        ("data/tiny20.jsonl", "tiny20", "data/tiny20.jsonl"),
        ("data/news-2019.jsonl", "news-2019", "data/news-2019.jsonl"),
        ("data/0007.txt", "data", "data/0007.txt"),
        ("web_shard_3.csv", "web", "web_shard_3.csv"),
        ("train-00000-of-00002.parquet", "train", "train-00000-of-00002.parquet"),
        ("hf://datasets/allenai/c4@main/en/*.json.gz", "c4", "hf://datasets/allenai/c4@main/en/*.json.gz"),
        ("https://x.org/pile.jsonl.zst?download=true", "pile", "https://x.org/pile.jsonl.zst?download=true"),
    ],
)
def test_a_source_is_a_name_and_an_address(given: str, corpus: str, address: str) -> None:
    source = parse_source(given)
    assert (source.corpus, source.address) == (corpus, address)


@pytest.mark.parametrize("given", ["", "  ", "wiki=", "=data", " =data"])
def test_a_source_without_a_part_is_refused(given: str) -> None:
    with pytest.raises(UsageError):
        parse_source(given)


def test_a_path_with_an_equals_sign_is_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "lang=en/a.jsonl")
    monkeypatch.chdir(tmp_path)
    assert parse_source("lang=en").corpus == "lang=en"
    assert parse_source("lang=*").address == "lang=*"


def test_folders_patterns_and_files_are_found(tmp_path: Path) -> None:
    write(
        tmp_path,
        "c/a.jsonl",
        "c/en/b.jsonl",
        "c/en/deep/d.jsonl",
        "c/.hidden/e.jsonl",
        "c/_temporary/f.jsonl",
        "c/.g.jsonl",
    )
    write(tmp_path, "c/readme.md", "c/info.json", "c/rows.json.gz")
    (tmp_path / "c/rows.json.gz").write_bytes(b"")
    found = survey([str(tmp_path / "c")])
    assert [piece.name for piece in found.pieces] == [
        "a.jsonl",
        "en/b.jsonl",
        "en/deep/d.jsonl",
        "rows.json.gz",
    ]
    assert [piece.number for piece in found.pieces] == [0, 1, 2, 3]
    assert {piece.corpus for piece in found.pieces} == {"c"}
    assert any("left out 2 files of other types: " in note and ".md (1)" in note for note in found.notes)
    write(tmp_path, "mixed/a.jsonl", "mixed/b.jsonl", "mixed/c.txt")
    assert any("jsonl (2), text (1)" in note for note in survey([str(tmp_path / "mixed")]).notes)
    assert any("empty files, which have no documents: 1 file" in note for note in found.notes)

    def names(pattern: str) -> list[str]:
        return [piece.name for piece in pieces([str(tmp_path / pattern)])]

    assert names("c/*.jsonl") == ["a.jsonl"]
    assert names("c/*/*.jsonl") == ["en/b.jsonl"]
    assert names("c/**/*.jsonl") == ["a.jsonl", "en/b.jsonl", "en/deep/d.jsonl"]
    assert names("c/en/b.jsonl") == ["b.jsonl"]
    assert names("c/info.json") == ["info.json"]
    assert pieces([f"file://{tmp_path}/c/a.jsonl"])[0].corpus == "a"


def test_sources_of_one_name_are_one_corpus(tmp_path: Path) -> None:
    write(tmp_path, "a/part-0.jsonl", "a/part-1.jsonl", "b/part-0.jsonl")
    both = pieces([f"all={tmp_path}/a", f"all={tmp_path}/b/part-0.jsonl"])
    assert [(piece.corpus, piece.name) for piece in both] == [
        ("all", "part-0.jsonl"), ("all", "part-1.jsonl"), ("all", "part-0.jsonl")
    ]  # fmt: skip
    # shards that the shell listed are one corpus too, but not those of two folders
    assert {
        piece.corpus for piece in pieces([f"{tmp_path}/a/part-0.jsonl", f"{tmp_path}/a/part-1.jsonl"])
    } == {"a"}
    write(tmp_path, "a/web-1.jsonl", "a/web-2.jsonl", "b/web-1.jsonl")
    shards = [f"{tmp_path}/a/web-1.jsonl", f"{tmp_path}/a/web-2.jsonl"]
    assert [piece.corpus for piece in pieces(shards)] == ["web", "web"]
    assert [piece.corpus for piece in pieces(shards[:1])] == ["web-1"]
    write(tmp_path, "a/train.jsonl", "b/train.jsonl")
    with pytest.raises(UsageError, match="would both be part of the corpus 'train'"):
        pieces([f"{tmp_path}/a/train.jsonl", f"{tmp_path}/b/train.jsonl"])


def test_the_same_file_twice_in_a_corpus_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "c/a.jsonl")
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "c" / "a.jsonl")
    for other in (f"x={tmp_path}/c/*.jsonl", f"x={tmp_path}/c/../c/a.jsonl", f"x={tmp_path}/link.jsonl"):
        with pytest.raises(UsageError, match="Each of its documents would count twice"):
            pieces([f"x={tmp_path}/c", other])
    assert len(pieces([f"x={tmp_path}/c", f"y={tmp_path}/c"])) == 2


def test_nothing_to_read_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, "c/a.md", "c/b.pdf")
    (tmp_path / "empty").mkdir()
    (tmp_path / "void.jsonl").write_bytes(b"")
    cases = {
        "none.jsonl": "File or folder not found",
        "none/*.jsonl": "No file found",
        "empty": "contains no files",
        "c": r"unknown file types: \.\w+ \(1\), \.\w+ \(1\)",
        "void.jsonl": r"all files are empty \(1 file\)",
    }
    for name, told in cases.items():
        with pytest.raises((DataError, UsageError), match=told):
            pieces([str(tmp_path / name)])
    with pytest.raises(UsageError, match="No source"):
        pieces([])
    assert [piece.kind for piece in pieces([str(tmp_path / "c" / "a.md")], kind="text")] == ["text/line"]
    with pytest.raises(UsageError, match="Unknown value of `--documents`: 'lines'"):
        pieces([str(tmp_path / "c" / "a.md")], kind="text", documents="lines")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="Unknown file format"):
        pieces([str(tmp_path / "c" / "a.md")], kind="markdown")


@pytest.mark.parametrize(
    "address", ["ftp://x/a.jsonl", "hf://gpt2/a.jsonl", "hf://datasets/c4", "hf://datasets/"]
)
def test_addresses_of_unknown_shape_are_refused(address: str) -> None:
    with pytest.raises(UsageError):
        pieces([address])


def test_the_hub_out_of_reach_is_a_clear_error() -> None:
    with pytest.raises(DataError, match="hf://datasets/allenai/c4/en could not be read"):
        pieces(["hf://datasets/allenai/c4/en"])


def test_text_of_folders_is_taken_by_file_where_files_are_books(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt.gz"):
        (tmp_path / "books" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "books" / name).write_text("x")
    (tmp_path / "wikitext").mkdir()
    for name in ("wiki.train.tokens", "wiki.test.tokens"):
        (tmp_path / "wikitext" / name).write_text(" = Title = \n \n A line .\n")
    assert {piece.kind for piece in pieces([str(tmp_path / "books")])} == {"text/file"}
    assert {piece.kind for piece in pieces([str(tmp_path / "wikitext")])} == {"text/line"}
    with pytest.raises(UsageError, match="The corpus 'one' would mix two kinds of documents: each file of"):
        pieces([f"one={tmp_path / 'books'}", f"one={tmp_path / 'wikitext'}"])
    (tmp_path / "books" / "c.txt").write_bytes(b"x" * 400_000)
    assert {piece.kind for piece in pieces([str(tmp_path / "books")])} == {"text/line"}
    assert any("each line" in note for note in survey([str(tmp_path / "books")]).notes)


@settings(max_examples=10)
@given(
    texts=st.lists(st.text(st.characters(codec="utf-8"), max_size=30), min_size=1, max_size=20),
    largest=st.integers(1, 300),
)
def test_any_division_gives_every_document_once(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], largest: int
) -> None:
    path = tmp_path_factory.mktemp("division") / "a.jsonl"
    path.write_text("".join(json.dumps({"text": f"x{text}"}, ensure_ascii=False) + "\n" for text in texts))
    read = [
        text
        for piece in pieces([str(path)], largest=largest)
        for batch in read_batches(piece)
        for text in batch.texts
    ]
    assert read == [f"x{text}" for text in texts]


def test_windows_paths_are_no_scheme() -> None:
    assert get_scheme(r"C:\data\a.jsonl") == ""


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are text there")
def test_files_whose_names_are_no_utf8_are_named_and_left_out(tmp_path: Path) -> None:
    (tmp_path / "corpus").mkdir()
    odd = os.fsdecode(os.fsencode(tmp_path / "corpus") + b"/a\xff.jsonl")
    Path(odd).write_text('{"text": "a"}\n')
    with pytest.raises(DataError, match=r"1 files have names that are not UTF-8"):
        survey([odd])
    with pytest.raises(DataError, match=r"1 files have names that are not UTF-8"):
        survey([str(tmp_path / "corpus")])
    (tmp_path / "corpus" / "b.jsonl").write_text('{"text": "b"}\n')
    found = survey([str(tmp_path / "corpus")])
    assert [Path(piece.address).name for piece in found.pieces] == ["b.jsonl"]
    assert "not UTF-8" in found.notes[0] and found.notes[0].encode()


def test_a_file_that_vanishes_was_there(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "a"}\n')
    (piece,) = survey([str(path)]).pieces
    path.unlink()
    with pytest.raises(
        DataError, match=r"a\.jsonl was there when the work was planned, but no longer exists \(or"
    ) as told:
        list(read_batches(piece))
    assert "Restore the file, then run the same command again: it resumes" in str(told.value.hint)


def test_a_mark_of_byte_order_before_any_line_is_passed_over(tmp_path: Path) -> None:
    """Shards that were put one behind another have such marks within."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"text": "a"}\n{"text": "b"}\n\xef\xbb\xbf{"text": "c"}\n')
    (piece,) = survey([str(path)]).pieces
    assert [text for batch in read_batches(piece) for text in batch.texts] == ["a", "b", "c"]
