"""The verbs, their arguments and flags, and the words of the help are those of the snapshots."""

import difflib

import pytest

from tests.compatibility.cases import RENEW, SNAPSHOTS
from tests.compatibility.flags import TEXTS, all_commands


@pytest.mark.parametrize("name", TEXTS)
def test_flags_and_help_are_those_of_the_snapshot(name: str) -> None:
    now, stored = TEXTS[name](), (SNAPSHOTS / f"{name}.txt").read_text(encoding="utf-8")
    changes = difflib.unified_diff(stored.splitlines(), now.splitlines(), "stored", "now", lineterm="", n=0)
    assert "\n".join(changes) == "", RENEW


def test_every_flag_has_help() -> None:
    silent = [
        f"{path} {one.name}" for path, command in all_commands() for one in command.params if not one.help
    ]
    assert silent == []
