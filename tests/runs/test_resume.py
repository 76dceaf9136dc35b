"""Stopped at any instant, however it is stopped, a run resumes to what it would have been."""

import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

from evenhand.runs import PlanPart, RunDirectory, ScoreRequest, answers, execute, make_plan, self_chats
from evenhand.schema import Interrupted
from tests.helpers import talking

ROOT = Path(__file__).parents[2]
CHILD = """
import sys
from tests.helpers import fakes, talking
what = sys.argv[4].removeprefix("talking.")
getattr(fakes if what == sys.argv[4] else talking, what)(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))
"""
REQUESTS = 2000


def launch(path, requests=REQUESTS, seconds_per_text=0.001, what="slow_run"):
    command = [sys.executable, "-c", CHILD, str(path), str(requests), str(seconds_per_text), what]
    return subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)


def shards(path, of="responses"):
    return len(list(path.glob(f"{of}/part-*.parquet")))


def wait_for_shards(process, path, n, of="responses"):
    deadline = time.monotonic() + 60
    while shards(path, of) < n:
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline, "the process does not get on"
        time.sleep(0.002)


def table(path):
    return RunDirectory.open(path).responses().sort("request_id")


@pytest.mark.slow
@pytest.mark.parametrize("seed", [20261120])
def test_killed_ten_times_it_equals_an_uninterrupted_run(tmp_path, fakes, seed):
    moments, path, kept = random.Random(seed), tmp_path / "killed", []
    for _ in range(10):
        with launch(path) as process:
            ahead = moments.randrange(5)
            if ahead:
                wait_for_shards(process, path, (kept or [0])[-1] + ahead)
                time.sleep(moments.uniform(0, 0.03))
            else:
                time.sleep(moments.uniform(0, 0.5))
            process.kill()
        assert process.returncode == -signal.SIGKILL, "it finished before it was killed"
        kept.append(shards(path))
    assert kept == sorted(kept)
    assert 0 < kept[-1] < REQUESTS // 8
    with launch(path, seconds_per_text=0.0) as process:
        _, told = process.communicate()
    assert process.returncode == 0, told

    fakes.slow_run(str(tmp_path / "whole"), REQUESTS, 0.0)
    assert table(path).height == REQUESTS
    assert table(path).equals(table(tmp_path / "whole"))
    # Killed without a word: what was answered before was neither lost nor asked again.
    parts = pl.concat(pl.read_parquet(part) for part in path.glob("responses/part-*.parquet"))
    assert parts["request_id"].is_duplicated().sum() == 0
    assert not list(path.glob("responses/.*"))
    sessions = RunDirectory.open(path).manifest.sessions
    assert sessions[-1].status == "complete"
    assert all(session.ended is None for session in sessions[:-1])


def test_killed_while_writing_and_while_judging_it_equals_an_uninterrupted_run(tmp_path, fakes):
    path, whole, prompts = tmp_path / "killed", tmp_path / "whole", 120
    for stage, ahead in [("responses", 3), ("labels/behind@*", 2), ("labels/in*", 1)]:
        with launch(path, prompts, 0.005, "slow_judged_run") as process:
            wait_for_shards(process, path, ahead, stage)
            process.kill()
        assert process.returncode == -signal.SIGKILL, "it finished before it was killed"
        if stage == "labels/in*":
            assert "insult" not in RunDirectory.open(path).manifest.judged["numbered"]
    fakes.slow_judged_run(str(path), prompts, 0.0)
    fakes.slow_judged_run(str(whole), prompts, 0.0)
    killed = answers(RunDirectory.open(path), "numbered")
    assert killed.height == 2 * prompts
    assert killed.equals(answers(RunDirectory.open(whole), "numbered"))
    assert set(killed["insult_error"].to_list()) == {None, "empty_text"}
    for table, keys in [("responses", ["request_id", "sample"]), ("labels/*", ["text_id"])]:
        for folder in path.glob(table):
            parts = pl.concat(pl.read_parquet(part) for part in folder.glob("part-*.parquet"))
            assert parts.height == len(parts.unique(keys)), "something was asked twice"
            assert not list(folder.glob(".*"))


@pytest.mark.slow
@pytest.mark.parametrize(("conversations", "kills"), [(2000, 20)])
def test_conversations_killed_at_any_utterance_equal_uninterrupted_ones(tmp_path, conversations, kills):
    moments, path, kept = random.Random(20261122), tmp_path / "killed", []
    each = conversations * 11 // 64 // (kills + 2)  # shards between two kills, so that they fall on all turns
    for _ in range(kills):
        with launch(path, conversations, 0.0003, "talking.slow_talk") as process:
            wait_for_shards(process, path, (kept or [0])[-1] + moments.randrange(1, 2 * each))
            time.sleep(moments.uniform(0, 0.05))
            process.kill()
        assert process.returncode == -signal.SIGKILL, "it finished before it was killed"
        kept.append(shards(path))
    turns = RunDirectory.open(path).prompts("names")["turn"].unique().to_list()
    assert turns == [2], "nothing but first replies is stored before all is said"
    with launch(path, conversations, 0.0, "talking.slow_talk") as process:
        _, told = process.communicate()
    assert process.returncode == 0, told
    talking.slow_talk(str(tmp_path / "whole"), conversations, 0.0)
    frames = [self_chats(RunDirectory.open(tmp_path / name), "names") for name in ("killed", "whole")]
    assert frames[0].equals(frames[1])
    assert frames[0].height == conversations * 12 and frames[0]["text"].null_count() == 0
    parts = pl.concat(pl.read_parquet(part) for part in path.glob("responses/part-*.parquet"))
    assert parts["request_id"].is_duplicated().sum() == 0, "something was asked twice"
    assert not list(path.glob("responses/.*"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_signal_leaves_in_order_and_says_how_to_resume(tmp_path, fakes, number):
    path = tmp_path / "run"
    with launch(
        path, seconds_per_text=0.05
    ) as process:  # 100 seconds, so that it is not done before the signal
        wait_for_shards(process, path, 2)
        process.send_signal(number)
        _, told = process.communicate(timeout=60)
    assert process.returncode == 1  # uncaught here; the command line turns it into 130
    assert f"Resume with: evenhand audit {path}" in told
    manifest = RunDirectory.open(path).manifest
    assert manifest.status == "interrupted"
    answered = table(path).height
    assert manifest.sessions[-1].requests_after == answered
    assert 0 < answered < REQUESTS
    fakes.slow_run(str(path), REQUESTS, 0.0)
    fakes.slow_run(str(tmp_path / "whole"), REQUESTS, 0.0)
    assert table(path).equals(table(tmp_path / "whole"))


def test_a_second_signal_ends_the_process_at_once(tmp_path):
    script = """
import signal, sys, time
from evenhand.runs import stopping
class Clock:
    now = 0.0
    def monotonic():
        return Clock.now
stopping.time = Clock
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
with stopping.Stopping() as stop:
    try:
        with stop.in_flight():
            print("ready", flush=True)
            time.sleep(600)
    finally:
        print("cleaning", flush=True)
        sys.stdin.readline()
        Clock.now = 1.01 * stopping.SAME_PRESS
        print("later", flush=True)
        time.sleep(600)
"""
    command, pipe = [sys.executable, "-c", script], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "cleaning\n"
        process.send_signal(signal.SIGINT)  # the same press
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "later\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == -signal.SIGINT


def test_interrupted_is_exit_code_130_and_handlers_are_put_back(start, fakes):
    def stop_at(texts):
        if "text 20" in texts:
            signal.raise_signal(signal.SIGINT)

    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    plan, model, directory = start([f"text {i}" for i in range(10, 40)], fakes.HashModel(stop_at))
    told = r"Stopped with 10 requests done and 20 remaining\. All results so far are saved"
    with pytest.raises(Interrupted, match=told) as caught:
        execute(plan, model, directory, first_shard=10, max_shard=10)
    assert caught.value.exit_code == 130
    assert before == (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM))


def test_a_shard_being_written_when_the_signal_comes_is_completed(start, fakes, monkeypatch):
    import evenhand.runs.engine as engine

    plan, model, directory = start([f"text {i}" for i in range(30)])
    write = engine.write_shard

    def write_and_stop(*arguments):
        signal.raise_signal(signal.SIGINT)
        return write(*arguments)

    monkeypatch.setattr(engine, "write_shard", write_and_stop)
    with pytest.raises(Interrupted, match="Stopped with 10 requests done and 20 remaining"):
        execute(plan, model, directory, first_shard=10, max_shard=10)
    assert directory.responses().height == 10


@settings(max_examples=15)
@given(
    texts=st.lists(st.sampled_from(["", *"abcdefghijklmnop"]), min_size=1, max_size=40),
    sessions=st.lists(st.tuples(st.integers(1, 9), st.integers(1, 4)), max_size=5),
    keep_tokens=st.booleans(),
)
def test_any_split_into_sessions_gives_the_same_table(fakes, texts, sessions, keep_tokens):
    """Each session asks in shards of its own size and is stopped after some batches."""
    frame = pl.DataFrame({"prompt_id": [str(i) for i in range(len(texts))], "text": texts})
    model = fakes.HashModel()
    plan = make_plan([PlanPart("texts", frame, ScoreRequest(keep_tokens=keep_tokens))], model.fingerprint)
    with tempfile.TemporaryDirectory() as folder:
        split, whole = Path(folder) / "split", Path(folder) / "whole"
        RunDirectory.create(split, model=model, given={}, resolved={})
        for size, batches in sessions:

            def stop(asked, left=[batches]):  # noqa: B006  (a counter of this session)
                if left[0] == 0:
                    raise KeyboardInterrupt
                left[0] -= 1

            try:
                execute(
                    plan, fakes.HashModel(stop), RunDirectory.open(split), first_shard=size, max_shard=size
                )
            except Interrupted:
                continue
        execute(plan, model, RunDirectory.open(split))
        execute(plan, model, RunDirectory.create(whole, model=model, given={}, resolved={}))
        assert table(split).equals(table(whole))
        assert table(split).height == len(set(texts))
