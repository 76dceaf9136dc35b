"""DSTC7's files against what was written into them; damaged ones."""

import gzip
from pathlib import Path

import pytest

from evenhand.prompts.dialogue_tasks import read_exchanges, read_test_contexts
from evenhand.schema import DataError
from tests.prompts.dialogue_tasks.small import ASKED, EXCHANGES, REFERENCES, write_dstc7


def test_conversations_and_references_are_those_that_were_written(tmp_path: Path) -> None:
    folder = write_dstc7(tmp_path)
    found = list(read_exchanges(folder))
    assert [(one.context, one.response) for one in found] == EXCHANGES
    assert [one.conversation for one in found] == ["c0", "c0", "c1", "c1", "c2", "c2"]
    assert list(read_exchanges(folder, limit=2)) == found[:2]
    asked = read_test_contexts(folder)
    assert [(one.context, list(one.references)) for one in asked] == list(zip(ASKED, REFERENCES, strict=True))


def test_other_names_archives_and_keys_are_taken(tmp_path: Path) -> None:
    folder = write_dstc7(tmp_path)
    content = (folder / "train.convos.txt").read_bytes()
    (folder / "train.convos.txt").unlink()
    (folder / "train_convos.txt.gz").write_bytes(gzip.compress(content))
    assert len(list(read_exchanges(folder))) == len(EXCHANGES)
    (folder / "test.2k.txt").write_text("t2\nt0\nnone\n")
    assert [one.key for one in read_test_contexts(folder)] == ["t0", "t2"]
    (folder / "train_convos.txt.gz").write_bytes(gzip.compress(content)[:-12])
    with pytest.raises(DataError, match="incomplete"):
        list(read_exchanges(folder))


def test_lines_without_a_response_are_left_out(tmp_path: Path) -> None:
    folder = write_dstc7(tmp_path)
    path = folder / "train.convos.txt"
    path.write_text(path.read_text() + "k9\tsmall\tc9\t1\t2\tSTART EOS hello\t \n\n")
    assert len(list(read_exchanges(folder))) == len(EXCHANGES)


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("train.convos.txt", b"", "is empty"),
        (
            "train.convos.txt",
            b"a\tb\tc\t1\t2\tcontext\n",
            "train.convos.txt, line 1: expected 7 columns separated by tabs, got 6. If this is the last line, the file",
        ),
        ("train.convos.txt", b"a\tb\tc\t1\t2\t\t\n", "contains no conversation"),
        (
            "train.convos.txt",
            b"a\tb\tc\t1\t2\tx\ty\nb\tb\tc\t1\t2\t\xff\ty\n",
            "line 2: bytes that are not UTF-8",
        ),
        ("test.refs.txt", b"t0\tno score\n", "line 1: expected a key and references as score"),
        ("test.refs.txt", b"other\t1|text\n", "No test key of"),
    ],
)
def test_files_that_are_wrong_say_where(tmp_path: Path, file: str, content: bytes, message: str) -> None:
    folder = write_dstc7(tmp_path)
    (folder / file).write_bytes(content)
    with pytest.raises(DataError, match=f"(?s){message}.*Expected: train.convos.txt"):
        list(read_exchanges(folder)), read_test_contexts(folder)


def test_absent_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"has no train.convos.txt or train_convos.txt"):
        list(read_exchanges(tmp_path))
    with pytest.raises(DataError, match="is not a folder"):
        read_test_contexts(tmp_path / "none")
