"""A real Ray cluster of this machine: the same rows as without it, whatever is killed, and clear errors."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
from perf.common import descendants

import evenhand as eh
from evenhand.runs import RunDirectory
from evenhand.runs.cluster import check_place
from evenhand.runs.cluster.on_ray import threads
from evenhand.schema import UsageError

ROOT = Path(__file__).parents[3]
MOST_DIFFERENT = 1e-4
"""Nats by which a likelihood may differ between batches of other sizes."""


def audit_command(path, *more):
    return [sys.executable, "-m", "evenhand", "audit", "evenhand/reference", "-b", "regard", "--classifier", "vader",
            "--device", "cpu", "--samples", "600", "-o", str(path), *more]  # fmt: skip


def child(path, *more):
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        audit_command(path, *more),
        cwd=ROOT,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


def tables(path):
    """Responses and labels of a run, in one order."""
    run = RunDirectory.open(path)
    (labels,) = run.path.glob("labels/*")
    parts = pl.concat(pl.read_parquet(part) for part in sorted(labels.glob("part-*.parquet")))
    responses = run.responses().sort("request_id", "sample")
    return responses, parts.unique("text_id", keep="last").sort("text_id"), run


def assert_equal_runs(path, whole):
    (responses, labels, run), (expected, expected_labels, expected_run) = tables(path), tables(whole)
    assert responses.drop("log_likelihood").equals(expected.drop("log_likelihood"))
    assert (responses["log_likelihood"] - expected["log_likelihood"]).abs().max() < MOST_DIFFERENT
    assert labels.equals(expected_labels)
    assert run.measurements().equals(expected_run.measurements())
    assert run.findings().equals(expected_run.findings())


def wait_for_work(process, path, parts):
    deadline = time.monotonic() + 300
    while len(list(path.glob("**/part-*.parquet"))) < parts and process.poll() != 0:
        assert process.poll() is None, process.stderr.read().decode()
        assert time.monotonic() < deadline, "the audit does not get on"
        time.sleep(0.01)


def wait_for_workers(process):
    """Those of a running audit, once both are there; none where it has ended."""
    deadline = time.monotonic() + 120
    while process.poll() is None and time.monotonic() < deadline:
        workers = [pid for pid, name in descendants(process.pid).items() if name.startswith("ray::Worker")]
        if len(workers) == 2:
            return workers
        time.sleep(0.05)
    return []


@pytest.mark.slow
def test_killed_and_resumed_ten_times_on_two_workers_it_equals_a_run_without_ray(tmp_path):
    path, whole, moments, killed = tmp_path / "killed", tmp_path / "whole", random.Random(20261123), 0
    with child(whole) as process:
        assert process.wait() == 0, process.stderr.read().decode()
    for kill in range(10):
        with child(path, "--on", "ray", "--workers", "2") as process:
            workers = wait_for_workers(process)
            time.sleep(moments.uniform(0, 3))
            if kill % 2:
                for pid in workers[: 1 + kill % 4 // 3]:
                    os.kill(pid, signal.SIGKILL)
                    killed += 1
                time.sleep(moments.uniform(0, 1))
            if process.poll() is None:
                process.kill()
            process.wait()
    assert killed > 4
    with child(path, "--on", "ray", "--workers", "2") as process:
        _, told = process.communicate()
    assert process.returncode == 0, told.decode()
    assert_equal_runs(path, whole)
    sessions = RunDirectory.open(path).manifest.sessions
    assert sessions[-1].status == "complete" and sessions[-1].workers["workers"] == 2
    parts = pl.concat(pl.read_parquet(part) for part in path.glob("responses/part-*.parquet"))
    assert not parts.select(pl.struct("request_id", "sample").is_duplicated().any()).item()


@pytest.mark.slow
def test_begun_on_ray_it_goes_on_without_and_the_other_way_round(tmp_path):
    whole = eh.audit("evenhand/reference", limit=3000, device="cpu", output=tmp_path / "whole")
    for first, second in ((("--on", "ray", "--workers", "2"), ()), ((), ("--on", "ray", "--workers", "2"))):
        path = tmp_path / f"begun{len(first)}"
        for more, ends in ((first, False), (second, True)):
            command = [sys.executable, "-m", "evenhand", "audit", "evenhand/reference", "--limit", "3000",
                       "--device", "cpu", "-o", str(path), *more]  # fmt: skip
            with subprocess.Popen(
                command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
            ) as process:
                if not ends:
                    wait_for_work(process, path, 2)
                    process.send_signal(signal.SIGINT)
                _, told = process.communicate()
            assert process.returncode in (0, 130) if not ends else process.returncode == 0, told.decode()
        found, expected = (
            run.responses().sort("request_id") for run in (RunDirectory.open(path), whole.directory)
        )
        numbers = ["log_likelihood", "token_log_likelihoods"]
        assert found.drop(numbers).equals(expected.drop(numbers))
        assert (found["log_likelihood"] - expected["log_likelihood"]).abs().max() < MOST_DIFFERENT
        verdicts = [frame.select("axis", "verdict") for frame in (eh.open_run(path).findings, whole.findings)]
        assert verdicts[0].equals(verdicts[1])


@pytest.mark.slow
def test_a_run_on_two_workers_equals_one_in_this_process(tmp_path):
    near = eh.audit("puppet/random", output=tmp_path / "near", axes=["age"], limit=60)
    far = eh.audit("puppet/random", output=tmp_path / "far", axes=["age"], limit=60, on="ray", workers=2)
    assert far.directory.responses().sort("request_id").equals(near.directory.responses().sort("request_id"))
    assert far.findings.equals(near.findings) and far.measurements.equals(near.measurements)
    session = far.directory.manifest.sessions[-1]
    assert session.workers["workers"] == 2 and session.workers["deaths"] == 0


def test_what_names_no_cluster_is_refused_before_anything_begins(tmp_path):
    with pytest.raises(UsageError, match="is not a valid cluster") as told:
        check_place("slurm")
    assert "ray://HOST:PORT" in told.value.hint
    with pytest.raises(UsageError, match="is not a valid cluster"):
        eh.audit("puppet/random", on="ray://", output=tmp_path / "run")
    with pytest.raises(UsageError, match="`--workers` requires `--on`"):
        eh.audit("puppet/random", workers=2, output=tmp_path / "run")


def test_processors_are_dealt_to_workers_so_that_all_find_room():
    for machines, workers in (([2], 2), ([64, 8], 9), ([3, 3, 3], 4), ([1], 5)):
        each = threads(machines, workers)
        assert (each >= 1 and sum(count // each for count in machines) >= workers) or sum(machines) < workers
        assert each * workers <= sum(machines) + 1e-9
