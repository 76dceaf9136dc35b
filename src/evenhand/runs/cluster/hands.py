"""What the workers' pool needs of a cluster: Ray gives it (`on_ray.py`), and anything else could."""

from collections.abc import Sequence
from typing import Any, Protocol


class Died(Exception):
    """A worker is gone, and with it what it was asked: its process, its machine, or the way to it."""


class Hands(Protocol):
    """Starts workers, asks them, and hears from them. What it calls a worker and a question is its own."""

    name: str
    """Description of the cluster, for messages and the record."""

    def start(self) -> Any:
        """A worker; it may take a while until one of its machines has room for it."""
        ...

    def ask(self, worker: Any, method: str, *arguments: Any) -> Any:
        """Put a question (a method of `Worker`) without waiting for the answer."""
        ...

    def ready(self, questions: Sequence[Any], seconds: float) -> list[Any]:
        """Return the requests that are answered or lost, after at most this number of seconds."""
        ...

    def answer(self, question: Any) -> Any:
        """The answer to a question that is ready; raises Died where its worker is gone."""
        ...

    def stop(self, worker: Any) -> None:
        """End a worker, if it is still there."""
        ...
