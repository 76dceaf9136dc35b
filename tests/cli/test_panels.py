"""The help groups verbs and flags: each is in one panel, and the same flag is in the same panel everywhere."""

from typing import Any

import pytest

from evenhand.cli.panels import EXCEPTIONS, FLAGS, VERBS
from tests.compatibility.flags import all_commands

PANELS = ("Basics", "Generation", "Statistics", "Resources", "Gate", "Advanced")
MOST_BASICS = 10
DIFFERENT_HELP = {
    "The verbs read or write different things.": (
        *("--output", "--from", "--data", "--prompts", "--column", "--terms", "--question", "--benchmark"),
        *("--axis", "--bias", "--name", "--names", "--negative", "--study", "--database", "--summary"),
        *("--classifier-error", "--config", "--version", "--revision", "--trust-addresses"),
    ),
    "The verbs accept different values.": (
        *("--classifier", "--decoding", "--device", "--set", "--as-published", "--by"),
    ),
    "The verbs sample, count or test different things.": (
        *("--limit", "--seed", "--error-threshold", "--retry-errors", "--plan", "--workers", "--on"),
        *("--guard", "--margin", "--threshold", "--alpha", "--temperature"),
    ),
}
"""Flags whose help differs between verbs, apart from the default, by the reason."""
COMMANDS = {path: command for path, command in all_commands() if not hasattr(command, "commands")}


def flags_of(path: str) -> dict[str, Any]:
    """Return the flags of a verb by their long names, in the order of its help."""
    command = COMMANDS[path]
    shown = command.get_params(command.context_class(command, info_name=command.name))
    return {max(one.opts, key=len): one for one in shown if one.param_type_name == "option"}


def test_every_verb_is_in_one_panel():
    program = dict(all_commands())["evenhand"]
    named = [verb for verbs in VERBS.values() for verb in verbs]
    assert sorted(named) == sorted(program.commands)
    assert len(set(named)) == len(named)


def test_the_help_of_the_program_shows_the_panels_in_order(evenhand):
    shown = evenhand("--help").out
    order = [shown.index(f"─ {panel} ─") for panel in VERBS]
    assert order == sorted(order)
    assert "─ Commands ─" not in shown
    assert shown.index("─ Compare and gate ─") < shown.index(" compare ") < shown.index("─ Mitigate ─")


@pytest.mark.parametrize("path", COMMANDS)
def test_every_flag_is_in_an_allowed_panel_and_few_are_basic(path):
    panels = [flag.rich_help_panel for flag in flags_of(path).values()]
    assert set(panels) <= set(PANELS)
    assert panels == sorted(panels, key=PANELS.index)
    assert panels.count("Basics") <= MOST_BASICS


def test_no_flag_is_named_twice_or_without_use():
    named = [flag for flags in FLAGS.values() for flag in flags]
    assert tuple(FLAGS) == PANELS
    assert len(set(named)) == len(named)
    assert set(named) == {flag for path in COMMANDS for flag in flags_of(path)}
    assert all(flag in flags_of(f"evenhand {verb}") for verb, flag in EXCEPTIONS)


def test_a_flag_is_in_the_same_panel_for_every_verb():
    panels: dict[str, set[str]] = {}
    for path in COMMANDS:
        for name, flag in flags_of(path).items():
            if (path.split()[-1], name) not in EXCEPTIONS:
                panels.setdefault(name, set()).add(flag.rich_help_panel)
    assert {name for name, found in panels.items() if len(found) > 1} == set()


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("path", COMMANDS)
def test_the_help_shows_every_flag_whole(evenhand, monkeypatch, path, width):
    monkeypatch.setenv("COLUMNS", str(width))
    shown = evenhand(*path.split()[1:], "--help").out
    assert [flag for flag in flags_of(path) if f" {flag} " not in shown] == []
    assert "…" not in shown


def test_a_flag_has_the_same_help_for_every_verb_or_a_reason():
    words: dict[str, set[str]] = {}
    for path in COMMANDS:
        for name, flag in flags_of(path).items():
            words.setdefault(name, set()).add(flag.help.split(" Default: ")[0])
    listed = [name for names in DIFFERENT_HELP.values() for name in names]
    assert sorted(listed) == sorted(name for name, found in words.items() if len(found) > 1)
