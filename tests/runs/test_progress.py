"""Progress: a first and a last line, one now and then between, and a bar only on a terminal."""

import io

import pytest

from evenhand.runs.progress import Bar, Lines, progress_for, show_progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_lines_come_first_last_and_every_thirty_seconds():
    now, stream = [0.0], io.StringIO()
    lines = Lines(stream, clock=lambda: now[0])
    with show_progress(lines, total=1000, done=100) as progress:
        for _ in range(9):
            now[0] += 10
            progress.advance(50, 500, 1)
    assert stream.getvalue().splitlines() == [
        "900 of 1,000 requests to process (100 done earlier)",
        "250/1,000 requests · 5 requests/s · 50 tokens/s · 3 errors · 2 min 30 s left",
        "400/1,000 requests · 5 requests/s · 50 tokens/s · 6 errors · 2 min 0 s left",
        "550/1,000 requests · 5 requests/s · 50 tokens/s · 9 errors · 1 min 30 s left",
        "550/1,000 requests · 5 requests/s · 50 tokens/s · 9 errors",
    ]


def test_a_stream_that_cannot_hold_a_character_gets_another():
    raw = io.BytesIO()
    lines = Lines(io.TextIOWrapper(raw, encoding="ascii"))
    lines.note("a · b")
    assert raw.getvalue() == b"a ? b\n"


def test_the_last_line_also_comes_after_an_error():
    stream = io.StringIO()
    with pytest.raises(ZeroDivisionError), show_progress(Lines(stream), total=3, done=0):
        raise ZeroDivisionError
    assert stream.getvalue().splitlines()[-1].startswith("0/3 requests")


def test_the_bar_shows_counts_rates_errors_and_notes():
    stream = Terminal()
    with show_progress(Bar(stream), total=1000, done=0) as progress:
        progress.note("part [red]set[/red] aside")
        progress.advance(1000, 5000, 2)
    text = stream.getvalue()
    assert "1000/1000" in text
    assert "tokens/s" in text
    assert "2 errors" in text
    assert "part [red]set[/red] aside" in text


@pytest.mark.parametrize("kind", [Lines, Bar])
def test_a_note_cannot_move_the_cursor(kind):
    stream = Terminal()
    with show_progress(kind(stream), total=1, done=0) as progress:
        before = len(stream.getvalue())
        progress.note("judged by \x1b]0;title\x07\x9b2J\u202elive\rgone")
        told = stream.getvalue()[before:]
    assert "judged by \ufffd]0;title\ufffd\ufffd2J\ufffdlive gone" in told
    assert "\x1b]" not in told and "\x9b" not in told


def test_the_stream_decides():
    assert isinstance(progress_for(Terminal()), Bar)
    assert isinstance(progress_for(io.StringIO()), Lines)
