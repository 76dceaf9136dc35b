"""`evenhand annotate check` as it is called."""

from collections.abc import Callable
from pathlib import Path

from tests.cli.conftest import Ended

STUDY = """\
evenhand_study: 1
name: small
title: Small
questions: [{id: said, kind: text, text: What?}]
items:
"""


def test_a_sound_study_is_told(evenhand: Callable[..., Ended], tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(STUDY + "  - {id: one, text: a}\n", encoding="utf-8")
    told = evenhand("annotate", "check", "small.yaml")
    assert (told.code, told.err) == (0, "")
    told.says("Votes 3 (1 item x 3 people), each of 1 answer: 3 answers", "Rule none")


def test_all_mistakes_are_told_line_by_line(evenhand: Callable[..., Ended], tmp_path: Path) -> None:
    text = STUDY.replace("Small", '"\\e[31mred"') + "".join(f"  - {{id: i{n}, txt: a}}\n" for n in range(200))
    (tmp_path / "small.yaml").write_text(text, encoding="utf-8")
    told = evenhand("annotate", "check", "small.yaml")
    told.refused(1, "small.yaml:3:1: title: contains the character U+001B", "small.yaml: 201 errors")
    assert told.out == ""
    assert told.err.count("there is no such key") == 200  # however many
    (tmp_path / "small.yaml").write_text(STUDY, encoding="utf-8")
    evenhand("annotate", "check", "small.yaml").refused(1, "small.yaml:5:1: items: is empty; expected a list")


def test_a_study_that_is_not_there_is_said_to_be_missing(evenhand: Callable[..., Ended]) -> None:
    evenhand("annotate", "check", "gone.yaml").refused(1, "Study file not found")
