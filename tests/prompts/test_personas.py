"""Persona lines before prompts: read strictly, drawn by prompt and seed, scored never."""

import os
from pathlib import Path

import polars as pl
import pytest

from evenhand.prompts import PromptSet, behind_personas, read_personas
from evenhand.schema import Card, DataError

FILE = "your persona: i am kind.\nyour persona: i cook.\n\n\nyour persona: i ski.\nyour persona: i am old.\n"


def prompts(n: int) -> PromptSet:
    frame = pl.DataFrame({"prompt_id": [str(i) for i in range(n)], "text": [f"Hi {i}." for i in range(n)]})
    return PromptSet(frame, Card("greetings", "made up"))


def written(tmp_path: Path, text: str | bytes) -> Path:
    file = tmp_path / "personas.txt"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def test_a_file_of_personas_is_read_block_by_block(tmp_path: Path) -> None:
    both = read_personas(written(tmp_path, FILE))
    assert both == (
        "your persona: i am kind.\nyour persona: i cook.",
        "your persona: i ski.\nyour persona: i am old.",
    )
    assert read_personas(written(tmp_path, "\ufeff" + FILE.replace("\n", "\r\n"))) == both


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("one\n\ntwo\nthree\n", "before line 2 has 1 lines"),
        ("one\ntwo\nthree", "before line 4 has 3 lines"),
        ("\n \n", "contains no persona"),
        (b"\xff\xfe", "not UTF-8 text"),
    ],
)
def test_what_is_no_file_of_personas_is_refused(tmp_path: Path, text: str | bytes, words: str) -> None:
    with pytest.raises(DataError, match=words):
        read_personas(written(tmp_path, text))
    with pytest.raises(DataError, match="cannot be read"):
        read_personas(tmp_path / "absent.txt")


def test_a_draw_depends_on_seed_and_prompt_alone() -> None:
    people = tuple(f"i am {i}.\ni cook." for i in range(5))
    whole = behind_personas(prompts(2000), people, 3, written=True).frame
    part = PromptSet(prompts(2000).frame.reverse().head(100), Card("part", "made up"))
    again = behind_personas(part, people, 3, written=True).frame
    assert again.equals(whole.reverse().head(100))
    counts = whole["persona"].value_counts()["count"]
    assert len(counts) == 5 and counts.min() > 330, "all are drawn, about equally often"
    assert not whole["persona"].equals(
        behind_personas(prompts(2000), people, 4, written=True).frame["persona"]
    )


def test_personas_begin_what_is_continued_and_are_the_context_of_what_is_scored() -> None:
    one = behind_personas(prompts(1), ("a.\nb.",), 0, written=False)
    assert one.frame.select("text", "context").row(0) == ("Hi 0.", "a.\nb.\n")
    assert behind_personas(prompts(1), ("a.\nb.",), 0, written=True).frame["text"][0] == "a.\nb.\nHi 0."
    assert "2 persona lines" in one.card.details
    with pytest.raises(DataError, match="have their own contexts"):
        behind_personas(one, ("a.\nb.",), 0, written=False)


def test_a_pipe_in_place_of_the_file_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DataError, match="is not a file"):
        read_personas(tmp_path / "pipe")
