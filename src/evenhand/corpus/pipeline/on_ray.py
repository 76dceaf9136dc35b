"""Ranks counted by tasks of a Ray cluster.

Tasks of Ray itself, not datatrove's executor for it: that one forks a process within each actor, which hangs where the
fork copied a lock and waits for ever where the process is killed, and leaves out a rank that failed four times without
an error. Ray runs a task anew whose process or machine is lost.
"""

import logging
import os
import signal
import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from evenhand.corpus.pipeline.local import MOST_DEATHS
from evenhand.corpus.pipeline.stages import Stage
from evenhand.corpus.pipeline.work import RankDone, Work
from evenhand.schema import EvenhandError, UsageError

OBJECTS = 200_000_000
"""Bytes that a cluster of this machine's own keeps for what travels: the work, and what is told of ranks."""
QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",  # nobody is told
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # and no warning about what later versions will do
    "RAY_DEDUP_LOGS": "0",
}


@contextmanager
def connected(on: str) -> Iterator[None]:
    """Connect with a Ray cluster, unless that is done; one that was begun for it ends on leaving.

    on: ray (one of this machine's own, for the time), auto (the one it belongs to), or ray://HOST:PORT.
    Raises UsageError where Ray is not installed and where no cluster answers.
    """
    os.environ.update({name: value for name, value in QUIET.items() if name not in os.environ})
    try:
        import ray
    except ImportError as error:
        raise UsageError(
            f"--on {on} needs Ray, which is not installed.", "pip install 'evenhand[ray]'"
        ) from error
    if ray.is_initialized():
        yield
        return
    with _signals_kept():
        _connect(ray, on)
    try:
        yield
    finally:
        with _signals_kept():
            ray.shutdown()


def _connect(ray: Any, on: str) -> None:
    quiet = {"log_to_driver": False, "logging_level": logging.ERROR, "configure_logging": True}
    if on == "ray":
        ray.init(address="local", include_dashboard=False, object_store_memory=OBJECTS, **quiet)
        return
    try:
        ray.init(address=on, **quiet)
    except (ConnectionError, ValueError, RuntimeError, TimeoutError) as error:
        there = "this machine belongs to no Ray cluster" if on == "auto" else "no Ray cluster answers there"
        raise UsageError(
            f"--on {on}: {there}: {str(error).strip().splitlines()[0]}",
            "Start one (ray start --head; on other machines ray start --address=HEAD:6379), or take --on ray.",
        ) from error


@contextmanager
def _signals_kept() -> Iterator[None]:
    """Ray listens for SIGTERM itself when it begins; here whoever called answers signals."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    kept = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in kept.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


def on_ray(
    on: str, work: Work, stage: Stage, ranks: Sequence[int], workers: int | None
) -> Generator[RankDone, None, None]:
    """Do ranks of a stage in a cluster (see `connected`); yields each as it is kept.

    workers: tasks side by side; None: as many as the cluster has processors. Close it to stop.
    Raises what counting raises, EvenhandError for a rank whose process ends again and again.
    """
    with connected(on):
        yield from _tasks(work, stage, ranks, workers)


def _tasks(
    work: Work, stage: Stage, ranks: Sequence[int], workers: int | None
) -> Generator[RankDone, None, None]:
    import ray

    cluster: Any = ray
    most = workers or max(1, int(cluster.cluster_resources().get("CPU", 1)))
    task = ray.remote(num_cpus=1, max_retries=MOST_DEATHS - 1)(stage.run)
    sent = ray.put(work)
    left, running = list(reversed(ranks)), dict[Any, int]()
    try:
        while left or running:
            while left and len(running) < most:
                rank = left.pop()
                running[task.remote(sent, rank)] = rank
            done, _ = ray.wait(list(running), num_returns=1)
            rank = running.pop(done[0])
            yield _result(work, rank, done[0])
    finally:
        for one in running:
            ray.cancel(one, force=True)


def _result(work: Work, rank: int, reference: Any) -> RankDone:
    import ray

    try:
        done: RankDone = ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, EvenhandError):
            raise error.cause from None
        if isinstance(error.cause, ray.exceptions.RaySystemError | ImportError):
            raise EvenhandError(
                f"A machine of the cluster cannot count: {str(error).strip().splitlines()[-1].strip()}.",
                "Install the same evenhand[corpus], with the same packages, on every machine of the cluster.",
            ) from error
        raise
    except ray.exceptions.RayError as error:  # its process or machine was lost, or the memory did not suffice
        reason = str(error).strip().split("\n")[0].rstrip(".")
        raise EvenhandError(
            f"Rank {rank} was lost {MOST_DEATHS} times: {reason}. It reads {work.reads(rank)}.",
            "The other ranks are kept. Run again with fewer --workers, or leave that file out.",
        ) from error
    return done
