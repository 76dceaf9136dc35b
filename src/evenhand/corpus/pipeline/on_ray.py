"""Count ranks in tasks of a Ray cluster.

This uses Ray tasks instead of datatrove's Ray executor. That executor forks a process in each actor: it hangs if the
fork copied a lock, waits forever if the process is killed, and silently drops a rank that failed four times. Ray
reruns a task if its process or machine is lost.
"""

from collections.abc import Generator, Sequence
from typing import Any

from evenhand.corpus.pipeline.local import MOST_DEATHS
from evenhand.corpus.pipeline.stages import Stage
from evenhand.corpus.pipeline.work import CorpusWork, RankDone
from evenhand.schema import EvenhandError
from evenhand.services import ray_cluster


def run_on_ray(
    on: str, work: CorpusWork, stage: Stage, ranks: Sequence[int], workers: int | None
) -> Generator[RankDone, None, None]:
    """Process ranks of a stage in a cluster (see `ray_cluster`); yield each when it is saved.

    workers: number of parallel tasks; None: one per processor of the cluster. Close the generator to stop. Raises the
    errors of counting, and EvenhandError for a rank whose process ends repeatedly.
    """
    with ray_cluster(on) as ray:
        yield from _tasks(ray, work, stage, ranks, workers)


def _tasks(
    ray: Any, work: CorpusWork, stage: Stage, ranks: Sequence[int], workers: int | None
) -> Generator[RankDone, None, None]:
    most = workers or max(1, int(ray.cluster_resources().get("CPU", 1)))
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
            yield _result(ray, work, rank, done[0])
    finally:
        for one in running:
            ray.cancel(one, force=True)


def _result(ray: Any, work: CorpusWork, rank: int, reference: Any) -> RankDone:
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
    except ray.exceptions.RayError as error:  # its process or machine was lost, or memory ran out
        reason = str(error).strip().split("\n")[0].rstrip(".")
        raise EvenhandError(
            f"Rank {rank} was lost {MOST_DEATHS} times: {reason}. It reads {work.reads(rank)}.",
            "Results of the other ranks are saved. Run again with fewer --workers, or without that file.",
        ) from error
    return done
