"""The terminal: 80 columns, any encoding, no control codes, and what was counted first."""

import io

import pytest
from rich.console import Console

from evenhand.studies.frequencies import render_terminal
from tests.studies.frequencies.small_corpora import (
    listed_twice,
    small_view,
    speaking_of_men,
    without_hits,
)


def printed(view, *, width: int = 80, encoding: str = "utf-8") -> str:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    render_terminal(view, Console(file=stream, width=width, force_terminal=False))
    stream.flush()
    stream.seek(0)
    return stream.read()


@pytest.fixture(scope="module")
def view():
    return small_view()


def test_it_says_what_was_counted_in_80_columns(view) -> None:
    text = printed(view)
    assert max(map(len, text.splitlines())) <= 80
    words = " ".join(text.split())
    assert "1,200 documents of 2 corpora" in words and "left out 2 empty and 1 not JSON" in words
    assert "besides, 7 documents not in the sample and 5 WARC records without text" in words
    assert "never found)" in words and "white" in words.partition("Rarely of people")[2]
    assert "blind" in words.partition("Nearer to she")[2].partition("Nearer to he")[0]


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_any_stream_can_hold_it(view, encoding: str) -> None:
    assert "He:She" in printed(view, encoding=encoding)


def test_names_of_corpora_are_no_control_codes() -> None:
    text = printed(small_view(hostile=True), width=100)
    assert "<b>web</b>" in text and not set(text) & {"\x1b", "\u202e"}


def test_nothing_found_is_said(view) -> None:
    assert "No she-pronoun and no he-pronoun was found" in " ".join(printed(without_hits(view)).split())


def test_a_corpus_without_her_says_so_with_a_limit() -> None:
    text = " ".join(printed(speaking_of_men(), width=120).split())
    limit = 100 * (1 - 0.025 ** (1 / 20))  # exact, of 0 in 20 documents
    assert f"men 0 % (≤ {limit:.1f} %) 95.0 % 0 % (≤ {limit:.1f} %) only he" in text
    assert "No she-pronoun was found, so there is no He:She ratio" in text
    assert "Pronouns were not among the terms" in " ".join(printed(speaking_of_men(("descriptors",))).split())


def test_a_name_is_printed_once_and_files_that_break_off_are_named() -> None:
    what = "/data/faiths.jsonl.gz: its gzip is damaged (CRC check failed)."
    text = printed(listed_twice(damage=what), width=120)
    religion = text.partition("religion (4 terms of 2 lists, 1 never found)")[2]
    assert religion.count("Buddhist") == 1 and "nun* 20.0" in religion and "* a noun phrase" in religion
    assert f"Damaged files (what could be read of them counts):\n{what}" in text
    assert "Damaged" not in printed(listed_twice())
