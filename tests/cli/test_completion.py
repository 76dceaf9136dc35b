"""What a shell offers behind TAB."""

import pytest

from evenhand.cli.app import app
from evenhand.cli.completion import Kind, anything, complete_names


@pytest.mark.parametrize(
    ("typed", "place", "offered"),
    [
        ("evenhand show stereo", "2", "stereoset"),
        ("evenhand audit m --benchmark crows", "4", "crows-pairs"),
        ("evenhand audit m --classifier toxicity=vad", "4", "toxicity=vader"),
        ("evenhand compa", "1", "compare"),
    ],
)
def test_bash_is_offered_names(typed, place, offered, monkeypatch, capsys):
    monkeypatch.setenv("_EVENHAND_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", typed)
    monkeypatch.setenv("COMP_CWORD", place)
    with pytest.raises(SystemExit):
        app(prog_name="evenhand")
    assert offered in capsys.readouterr().out.split()


def test_names_begin_as_what_was_typed():
    for kind in Kind:
        everything = complete_names(kind)("")
        assert everything and all(line for _, line in everything)
        letter = everything[0][0][0]
        assert {name for name, _ in complete_names(kind)(letter)} == {
            n for n, _ in everything if n[0] == letter
        }
    assert complete_names(Kind.BENCHMARKS)("no such") == []
    assert len(dict(anything("stereo"))) == len(anything("stereo"))
