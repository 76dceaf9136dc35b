"""Lines of a text file: where they end, and where they do not."""

from pathlib import Path

import pytest

from evenhand.mitigations.training.data.texts import read_texts
from evenhand.prompts.counterfactual.tables import read_texts as texts_to_change
from evenhand.prompts.own_files import read_lines
from evenhand.schema import DataError


def test_both_verbs_split_a_text_file_alike(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes("\ufeffone\u2028still\x0cone\x85here\r\ntwo\n\nfour".encode())
    wanted = ["one\u2028still\x0cone\x85here", "two", "", "four"]
    assert read_lines(file, "") == wanted
    assert texts_to_change(file)["text"].to_list() == wanted
    assert read_texts(file) == [line for line in wanted if line]


def test_what_is_no_text_file(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xff\xfe")
    for name in ("a.txt", "none.txt"):
        with pytest.raises(DataError):
            read_lines(tmp_path / name, "Expected lines.")
