"""The interface of a cluster for the pool of workers. Ray implements it (`on_ray.py`); other systems could."""

from collections.abc import Sequence
from typing import Any, Protocol


class WorkerDied(Exception):
    """A worker ended before it responded: its process, its machine or the connection."""


class Actors(Protocol):
    """Interface of a cluster that starts workers and sends them requests. Workers and requests are of any type."""

    name: str
    """Description of the cluster, for messages and the record."""

    def start(self) -> Any:
        """Start a worker and return it. It may wait until a machine has room for it."""
        ...

    def ask(self, worker: Any, method: str, *arguments: Any) -> Any:
        """Send a request (a method of `Worker`) without waiting for the response."""
        ...

    def wait_for_any(self, questions: Sequence[Any], seconds: float) -> list[Any]:
        """Return the requests that are answered or lost, after at most this number of seconds."""
        ...

    def answer(self, question: Any) -> Any:
        """Return the response to a finished request. Raise WorkerDied if the worker has died."""
        ...

    def stop(self, worker: Any) -> None:
        """Stop a worker, if it is still running."""
        ...
