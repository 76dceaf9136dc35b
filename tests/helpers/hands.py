"""Workers of a cluster without a cluster: they live in this process, answer in any order, and die when told to."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from evenhand.runs.cluster import Pool, Recipe, Worker, WorkerDied


class Killed(BaseException):
    """What a thing raises to have its worker die; no handling of errors holds it."""


@dataclass
class Question:
    worker: Worker
    method: str
    arguments: tuple[Any, ...]


@dataclass
class FakeHands:
    """`where`: what the worker of a number says of its machine, over what it says by itself."""

    seed: int = 0
    where: dict[int, dict[str, Any]] = field(default_factory=dict)
    name: str = "fake"
    started: list[Worker] = field(default_factory=list)
    dead: list[Worker] = field(default_factory=list)
    asked: list[Question] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)

    def start(self) -> Worker:
        self.started.append(Worker())
        return self.started[-1]

    def ask(self, worker: Worker, method: str, *arguments: Any) -> Question:
        self.asked.append(Question(worker, method, arguments))
        return self.asked[-1]

    def wait_for_any(self, questions: Sequence[Question], seconds: float) -> list[Question]:
        return [self.random.choice(list(questions))]

    def answer(self, question: Question) -> Any:
        worker = question.worker
        if any(worker is one for one in self.dead):
            raise WorkerDied("it was dead before")
        try:
            said = getattr(worker, question.method)(*question.arguments)
        except Killed as death:
            self.dead.append(worker)
            raise WorkerDied(str(death) or "the process is gone") from death
        if question.method == "where":
            number = next(i for i, one in enumerate(self.started) if one is worker)
            return {**said, "pid": number, **self.where.get(number, {})}
        return said

    def stop(self, worker: Worker) -> None:
        self.dead.append(worker)

    def pieces(self) -> list[Any]:
        """What workers were asked of texts, in order."""
        return [
            question.arguments[2][0]
            for question in self.asked
            if question.method == "do"
            and question.arguments[1].__name__ in ("_score", "_generate", "_classify")
        ]


def pool_of(make: Callable[[], Any], workers: int = 2, **options: Any) -> tuple[Pool, Recipe, list[str]]:
    """A pool, the recipe of what `make` makes, and what the pool notes."""
    notes: list[str] = []
    return Pool(FakeHands(**options), workers, notes.append), Recipe(make), notes
