"""The implementation for Ray: workers are actors of the cluster that `--on` names.

Ray Data is not used; docs/evidence/design_decisions.md gives the reason.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from evenhand.runs.cluster.actors import WorkerDied
from evenhand.runs.cluster.pool import Pool
from evenhand.runs.cluster.worker import Worker
from evenhand.schema import ModelError, UsageError
from evenhand.services import BELONGS, CLIENT, LOCAL, ray_cluster

SMALLEST = 0.01


def check_place(on: str) -> str:
    """Return the value of `--on` if it is valid. Raise a UsageError otherwise.

    >>> check_place("ray"), check_place("ray://head:10001")
    ('ray', 'ray://head:10001')
    """
    if on in (LOCAL, BELONGS) or (on.startswith(CLIENT) and len(on) > len(CLIENT)):
        return on
    raise UsageError(
        f"`--on {on}` is not a valid cluster.",
        "Expected ray (a temporary cluster on this machine), auto (the cluster that this machine belongs to) or "
        "ray://HOST:PORT.",
    )


@contextmanager
def start_workers(
    on: str,
    number: int | None = None,
    *,
    accelerated: bool = True,
    note: Callable[[str], None] | None = None,
) -> Iterator[Pool]:
    """Start workers on a Ray cluster; a context manager that stops them, and a cluster that was started for them.

    `on` is described at `check_place`. `number` is that of workers; None: one per accelerator of the cluster, or per
    processor if there are none. `accelerated` states whether to use accelerators. `note` is called with messages for
    the user. Raises the UsageErrors of `ray_cluster`, and one if the cluster has too few accelerators.
    """
    check_place(on)
    with ray_cluster(on) as ray:
        needs, number = _needs(ray, number, accelerated, on)
        pool = Pool(_RayActors(ray, on, needs), number, note)
        try:
            yield pool
        finally:
            pool.close()


class _RayActors:
    """Workers as Ray actors. Ray never restarts them; the pool starts new ones and repeats their requests."""

    def __init__(self, ray: Any, name: str, needs: dict[str, float]):
        self.ray, self.name = ray, name
        self.actor = ray.remote(Worker).options(max_restarts=0, max_task_retries=0, **needs)

    def start(self) -> Any:
        return self.actor.remote(str(Path.cwd()))

    def ask(self, worker: Any, method: str, *arguments: Any) -> Any:
        return getattr(worker, method).remote(*arguments)

    def wait_for_any(self, questions: Sequence[Any], seconds: float) -> list[Any]:
        waiting = list(questions)
        done, _ = self.ray.wait(waiting, num_returns=1, timeout=seconds)
        # Ray's client returns other objects than it was given; they compare equal
        return [question for question in waiting if question in done]

    def answer(self, question: Any) -> Any:
        errors = self.ray.exceptions
        try:
            return self.ray.get(question)
        except errors.RayTaskError as error:
            # not an error of the request, which a worker returns as data; none of our code runs here
            raise ModelError(
                f"A worker on {self.name} failed: {str(error).strip().splitlines()[-1]}",
                "Install the same evenhand, with the same extras and packages, on every machine of the cluster.",
            ) from error
        except errors.RayError as error:
            raise WorkerDied(_reason(error)) from error

    def stop(self, worker: Any) -> None:
        if self.ray.is_initialized():
            self.ray.kill(worker)


def _needs(ray: Any, number: int | None, accelerated: bool, on: str) -> tuple[dict[str, float], int]:
    """Return the resources that each worker reserves, and the number of workers."""
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    accelerators = int(sum(node.get("GPU", 0) for node in nodes)) if accelerated else 0
    if accelerators:
        if number is not None and number > accelerators:
            raise UsageError(
                f"{number} workers were requested, but the cluster at {on} has only {accelerators} accelerators.",
                f"Use --workers {accelerators} or fewer, or --device cpu.",
            )
        return {"num_gpus": 1, "num_cpus": 1}, number or accelerators
    processors = [int(node.get("CPU", 0)) for node in nodes]
    if not sum(processors):
        raise UsageError(f"The cluster at {on} has no processors and no accelerators.", "Check `ray status`.")
    number = number or sum(processors)
    return {"num_cpus": threads(processors, number)}, number


def threads(processors: Sequence[int], workers: int) -> float:
    """Return the number of processors for each worker, given those of each machine; below 1 if there are too few.

    >>> threads([8, 8], 4), threads([8, 4], 3), threads([2], 4)
    (4, 4, 0.5)
    """
    for each in range(max(processors), 0, -1):
        if sum(count // each for count in processors) >= workers:
            return each
    return max(sum(processors) / workers, SMALLEST)


def _reason(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
