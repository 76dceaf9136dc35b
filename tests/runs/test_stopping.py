"""Signals to stop: heard once whoever listens, never lost, never a traceback, and the second is final."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from evenhand.runs.stopping import Stopping, StopRequested, resumable
from evenhand.schema import Interrupted

NUMBERS = (signal.SIGINT, signal.SIGTERM)


@pytest.fixture(autouse=True)
def _handlers_are_put_back():
    before = [signal.getsignal(number) for number in NUMBERS], sys.unraisablehook
    yield
    assert ([signal.getsignal(number) for number in NUMBERS], sys.unraisablehook) == before


@pytest.mark.parametrize("number", NUMBERS)
def test_one_within_another_shares_what_has_come(number):
    steps = []
    with pytest.raises(StopRequested), Stopping() as outer, outer.in_flight():
        with Stopping() as inner:
            signal.raise_signal(number)  # deferred: nothing is in flight within
            steps.append("written")
            assert inner.is_requested and outer.is_requested
        steps.append("lost")
    assert steps == ["written"], "at the end of the inner it is obeyed"


def test_what_came_while_something_was_written_is_obeyed_in_the_end():
    with pytest.raises(StopRequested), Stopping():
        signal.raise_signal(signal.SIGTERM)


def test_a_second_signal_right_after_the_first_changes_nothing():
    cleaned = []
    with pytest.raises(StopRequested), Stopping() as stopping:
        try:
            with stopping.in_flight():
                signal.raise_signal(signal.SIGTERM)
        finally:
            signal.raise_signal(signal.SIGTERM)
            signal.raise_signal(signal.SIGINT)
            cleaned.append(True)
    assert cleaned


def test_the_inner_says_more_and_the_outer_how_to_go_on():
    with pytest.raises(Interrupted) as told, resumable("Outer."), resumable("Inner.", "Stopped at 3."):
        signal.raise_signal(signal.SIGINT)
    assert (told.value.message, told.value.hint, told.value.exit_code) == ("Stopped at 3.", "Outer.", 130)
    with pytest.raises(Interrupted, match="All results so far are saved"), resumable("Again."):
        raise KeyboardInterrupt


def test_one_that_is_raised_while_python_cleans_up_is_raised_again(capsys):
    class Struck:
        def __del__(self):
            signal.raise_signal(signal.SIGTERM)
            time.sleep(0)  # here the handler runs, and what it raises cannot leave

    with pytest.raises(StopRequested), Stopping() as stopping, stopping.in_flight():
        Struck()
        end = time.monotonic() + 60
        while time.monotonic() < end:
            time.sleep(0.001)
    assert "Exception ignored" not in capsys.readouterr().err


def test_beside_the_main_thread_nothing_is_listened_to():
    heard = []

    def work():
        with resumable("x"):
            heard.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert heard == [signal.getsignal(signal.SIGTERM)]


COMMAND = """
import sys, time
import evenhand.cli
def main():
    try:
        print("begun", flush=True)
        time.sleep(600)
    finally:
        if sys.argv[1] == "hangs":
            print("cleaning", flush=True)
            time.sleep(600)
evenhand.cli.main = main
from evenhand.__main__ import main as command
command()
"""


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("how", ["ends", "hangs"])
def test_a_command_ends_with_130_and_says_how_to_go_on(number: signal.Signals, how: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")}
    with subprocess.Popen(
        [sys.executable, "-c", COMMAND, how], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=environment,
    ) as process:  # fmt: skip
        assert process.stdout and process.stdout.readline() == "begun\n"
        process.send_signal(number)
        if how == "hangs":
            assert process.stdout.readline() == "cleaning\n"
            time.sleep(0.6)
            process.send_signal(number)
        _, told = process.communicate(timeout=60)
    assert process.returncode == 130, told
    assert told.strip().count("\n") == 1 and told.strip().startswith("interrupted: Stopped")
    assert "To resume, run the same command with -o FOLDER" in told and "Traceback" not in told


def test_a_signal_that_comes_when_a_command_has_ended_is_no_traceback():
    """It was raised where nothing listened any more: after the work, before the end of the process."""
    script = """
import signal
import evenhand.__main__ as command
def ended(stopping):
    signal.raise_signal(signal.SIGINT)
    return 0
command._run = ended
command.main()
"""
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")
