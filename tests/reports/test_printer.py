"""Tables that are wider than the console are cut between columns."""

import io

import pytest
from rich.console import Console

from evenhand.reports import Printer

HEADS = (
    "row",
    "words of a reply",
    "empty replies, %",
    "repeated 4-grams, %",
    "distinct pairs of words, %",
    "copies",
)
CELLS = ("original", "17.7 (17.6 to 17.9)", "0.00 (0.00 to 1.20)", "0.00", "14.0 (14.0 to 14.1)", "81.82")


def printed(width: int) -> str:
    console = Console(file=io.StringIO(), width=width)
    out = Printer(console)
    table = out.table(*((name, "left" if name == "row" else "right") for name in HEADS))
    out.row(table, *CELLS)
    out.show(table)
    return console.file.getvalue()


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_no_number_and_no_word_breaks_and_nothing_is_lost(width):
    text = printed(width)
    assert max(len(line.rstrip()) for line in text.splitlines()) <= width
    for cell in CELLS:
        assert cell in text
    for word in " ".join(HEADS).split():
        assert word in text.split()


def test_each_band_begins_with_the_name_of_the_row_and_a_wide_console_has_one():
    assert printed(80).count("original") > 1
    assert printed(200).count("original") == 1


@pytest.mark.parametrize("width", [12, 30, 200])
@pytest.mark.parametrize(
    "foreign", ["::error::planted", "said ::add-mask::x", "a\n  ::set-env name=A::b", "##[x]y"]
)
def test_no_printed_text_is_a_workflow_command(width, foreign):
    console = Console(file=io.StringIO(), width=width)
    out = Printer(console)
    out.line(f"Treated worse: {foreign}")
    out.sentences([("!", foreign, "")])
    out.path("page", foreign)
    table = out.table((foreign, "left"))
    out.row(table, foreign)
    out.show(table)
    lines = console.file.getvalue().splitlines()
    assert not any(line.lstrip().startswith("::") or "##[" in line for line in lines)
