"""A user's prompts as they come: other kinds of files, what spreadsheets do to them, and what is refused."""

from pathlib import Path

import polars as pl
import pytest

from evenhand.prompts.counterfactual import read_own
from evenhand.schema import DataError


def test_lines_tables_and_their_columns(tmp_path: Path) -> None:
    lines = tmp_path / "mine.txt"
    lines.write_text("\ufeffShe left.\r\n\r\nHe, too.\n", encoding="utf-8")
    assert read_own(lines).rows() == [("row-1", "She left."), ("row-3", "He, too.")]
    table = tmp_path / "mine.parquet"
    pl.DataFrame({"prompt_id": [7, 8], "text": ["A.", "B."], "topic": ["x", None]}).write_parquet(table)
    assert read_own(table).rows(named=True)[0] == {"base": "7", "text": "A.", "topic": "x"}


def test_the_same_text_is_asked_once(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_text("She left.\nHe left.\nShe left.\n")
    assert read_own(path)["base"].to_list() == ["row-1", "row-2"]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"prompt\nShe left.\n", "no column 'text'"),
        (b"text\nShe\x07 left.\n", "row 1: 'text' contains a control character (0x07)"),
        (b"text\n" + b"x" * 60_000 + b"\n", "row 1: 'text' has 60,000 characters"),
        ("text\nJosé left.\n".encode("latin-1"), "line 2: byte 0xe9 is not UTF-8"),
        (b"text,group\nShe left.,x\n", "has a column 'group', which is reserved for the audit"),
        (b"prompt_id,text\n1,She left.\n1,He left.\n", "row 1: the prompt_id '1' is empty or occurs twice"),
        (b"text\n\"\"\n\" \"\n", "'text' is empty in every row"),
        (b"text\nHello.\nDear {nmae}\n", "mine.csv, row 2: unknown slot {nmae}. Did you mean {name}?"),
        (b"base,axis,group,original,text\na,b,c,true,d\n", "is a review"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, content: bytes, told: str) -> None:
    path = tmp_path / "mine.csv"
    path.write_bytes(content)
    with pytest.raises(DataError) as error:
        read_own(path)
    assert told in error.value.message and error.value.hint
