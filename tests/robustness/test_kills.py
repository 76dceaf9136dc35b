"""Whatever ends a command, and whenever: what it had written counts, and going on gives what it would have given.

The whole table of verbs is marked slow (`pytest -m slow tests/robustness/test_kills.py -s` prints the counts); a sample
is in the default run.
"""

import itertools
import random
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.robustness.kills import NUMBERS, VERBS, Commands, Ended, assert_same, kills, stops

pytestmark = pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="forks and signals of POSIX")
LIGHT = ("evenhand.cli.app", "evenhand.catalogue", "evenhand.prompts.advpromptset.build")
KILLS, STOPS, IN_A_ROW = 20, 4, 4
"""Signals for each verb, and how many strike the same folder before it is brought to its end."""


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Commands]:
    with Commands(tmp_path_factory.mktemp("kills")) as served:
        yield served


@pytest.fixture(scope="module")
def light(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Commands]:
    with Commands(tmp_path_factory.mktemp("light"), LIGHT) as served:
        yield served


def whole_run(commands: Commands, name: str, folder: Path) -> Ended:
    """The verb without interruption."""
    folder.mkdir()
    VERBS[name].prepare(folder, commands)
    ended = commands.run(folder, *VERBS[name].command)
    assert ended.code == 0, ended.err
    return ended


def renames(folder: Path) -> int:
    return max(2, sum(1 for path in folder.rglob("*") if path.is_file()))


def strike_again_and_again(
    commands: Commands, name: str, kind: str, signals: int, folder: Path
) -> Counter[str]:
    """Strike a verb `signals` times, several times on the same folder, bring each folder to its end, and compare.

    kind: KILL or STOP.
    """
    verb, counts = VERBS[name], Counter[str]()
    if verb.needs is not None and not verb.needs.is_dir():
        pytest.skip(f"{verb.needs} is not here")
    whole = folder / "whole"
    seconds = whole_run(commands, name, whole).seconds
    rng = random.Random(f"{name} {kind}")
    coming = (kills if kind == "KILL" else stops)(rng, seconds, renames(whole))
    for attempt in itertools.count():
        if counts["struck"] >= signals:
            return counts
        assert attempt < 4 * signals, f"{name} is hardly ever struck: {counts}"
        struck = folder / f"struck-{attempt}"
        struck.mkdir()
        verb.prepare(struck, commands)
        for moment in itertools.islice(coming, IN_A_ROW):
            ended = commands.run(struck, *verb.next_command(struck), **moment)
            check_end(ended, kind, counts)
        ended = commands.run(struck, *verb.next_command(struck))
        assert ended.code == 0, ended.err
        assert_same(struck, whole)
        counts["compared"] += 1


def check_end(ended: Ended, kind: str, counts: Counter[str]) -> None:
    if ended.code == 0:
        counts["finished before"] += 1
        return
    counts["struck"] += 1
    if kind == "KILL":
        assert ended.code == -signal.SIGKILL, (ended.code, ended.err)
    else:
        check_told(ended)


def check_told(ended: Ended) -> None:
    assert ended.code == 130, (ended.code, ended.err)
    assert "Traceback" not in ended.err and "Exception ignored" not in ended.err, ended.err
    assert ended.err.count("interrupted: ") == 1, ended.err
    assert "with: evenhand " in ended.err or "same command" in ended.err, ended.err


@pytest.mark.slow
@pytest.mark.parametrize("name", VERBS)
def test_killed_again_and_again_it_ends_as_an_uninterrupted_run(
    commands: Commands, name: str, tmp_path: Path
) -> None:
    print(f"\n{name}: {dict(strike_again_and_again(commands, name, 'KILL', KILLS, tmp_path))}")


@pytest.mark.slow
@pytest.mark.parametrize("name", VERBS)
def test_stopped_anywhere_it_says_how_to_go_on_and_goes_on(
    commands: Commands, name: str, tmp_path: Path
) -> None:
    """By either signal, once or twice: the second while the first is obeyed, or when half a second has gone by."""
    print(f"\n{name}: {dict(strike_again_and_again(commands, name, 'STOP', STOPS, tmp_path))}")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "kind"),
    [
        ("typer", "INT"), ("evenhand.cli.audit", "TERM"), ("evenhand.studies.audit.conduct", "INT"),
        ("polars", "TERM"), ("numpy", "INT"), ("scipy.stats", "TERM"), ("rich.console", "INT"), ("jinja2", "TERM"),
        ("evenhand.reports.page", "INT"), ("evenhand.runs.environment", "TERM"), ("torch", "INT"),
        ("transformers", "TERM"),
    ],
)  # fmt: skip
def test_stopped_while_it_starts_it_says_so(light: Commands, module: str, kind: str, tmp_path: Path) -> None:
    model = "evenhand/reference" if module in ("torch", "transformers") else "puppet/random"
    moment = {"module": module, "signal": kind}
    ended = light.run(tmp_path, "audit", model, "--limit", 60, "-o", "run", moment=moment, alone=True)
    if ended.code == 0:
        pytest.skip(f"an audit does not import {module}")
    check_told(ended)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["KILL", "TERM", "INT"])
def test_a_calibration_over_two_processes_is_struck_as_one(
    commands: Commands, kind: str, tmp_path: Path
) -> None:
    command = (
        "calibrate",
        "crows_pairs",
        "--replications",
        4,
        "-j",
        2,
        "-o",
        "study",
        "--summary",
        "told.json",
    )
    for name in ("whole", "struck"):
        (tmp_path / name).mkdir()
    whole = commands.run(tmp_path / "whole", *command)
    assert whole.code == 0, whole.err
    for share in (0.3, 0.6, 0.9):
        ended = commands.run(
            tmp_path / "struck", *command, strikes=[(share * whole.seconds, NUMBERS[kind])], group=True
        )
        check_end(ended, kind, Counter())
    ended = commands.run(tmp_path / "struck", *command)
    assert ended.code == 0, ended.err
    assert_same(tmp_path / "struck", tmp_path / "whole")


def test_a_build_that_is_killed_is_gone_on_with(light: Commands, tmp_path: Path) -> None:
    counts = strike_again_and_again(light, "data build advpromptset", "KILL", 3, tmp_path)
    assert counts["struck"] >= 3 and counts["compared"] >= 1


def test_a_build_that_is_stopped_is_gone_on_with(light: Commands, tmp_path: Path) -> None:
    assert strike_again_and_again(light, "data build advpromptset", "STOP", 2, tmp_path)["struck"] >= 2


@pytest.mark.parametrize("module", ["typer", "evenhand.cli.data"])
def test_stopped_before_it_has_started(light: Commands, module: str, tmp_path: Path) -> None:
    moment = {"module": module, "signal": "TERM"}
    check_told(light.run(tmp_path, "--version", moment=moment, alone=True))
