"""Reddit's marks against a plain pattern, and entities of no character."""

import re

from hypothesis import given, strategies as st

from evenhand.prompts.redditbias.markup import links_as_texts, unescape_html, without_marks

PIECES = ["*", "**", "***", "_", "~~", "`", "a", "b c", " ", "\n", "[", "](", ")", "!["]


@given(st.lists(st.sampled_from(PIECES)))
def test_against_patterns_that_search_from_each_place(parts: list[str]) -> None:
    text = "".join(parts)
    assert links_as_texts(text) == re.sub(r"!?\[([^\]]*)\]\([^)\s]*\)", r"\1", text)
    text = re.sub(r"``+", "`", text)
    marks = r"(?<!\w)(\*{1,3}|_{1,3}|~~|`)(?=\S)(.+?)(?<=\S)\1(?!\w)"
    assert without_marks(text) == re.sub(marks, r"\2", text)


def test_runs_of_backticks_close_each_other_as_a_whole() -> None:
    assert without_marks("``a`b`` and `c``") == "a`b and `c``"


def test_entities_of_no_character() -> None:
    assert unescape_html(f"&amp;&#{'9' * 5000};&#x{'f' * 5000};&#{'0' * 5000}65;") == "&\ufffd\ufffdA"
