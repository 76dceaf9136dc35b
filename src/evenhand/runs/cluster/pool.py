"""A pool of parallel workers: a free worker gets the next piece, and the piece of a dead worker is sent again."""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from evenhand.runs.cluster.actors import Actors, WorkerDied
from evenhand.runs.cluster.work import Answers, PoolJob, Span
from evenhand.runs.cluster.worker import LONGEST, Recipe, TaskFailure, TaskRefusal, TaskResult
from evenhand.runs.environment import installed_versions
from evenhand.schema import EvenhandError, ModelError, as_json

POLL = 0.2
"""Seconds between two checks whether the user wants to stop."""
DEATHS = 6
"""Number of deaths in a row, in addition to one per worker, after which the run ends if no response came between
them."""
ROOM = 600.0
"""Seconds in which a cluster must find room for at least one worker."""
LISTED = 20
"""Number of deaths that the record lists individually."""


@dataclass
class _Seat:
    """The place of one worker. If the worker dies, another one takes its place."""

    worker: Any
    question: Any = None
    """The request in progress, if any: for a piece of work, for the creation of an object, or
    for the worker's location.
    """
    span: Span | None = None
    work: PoolJob | None = None
    """The job of the piece in progress."""
    makes: Recipe | None = None
    has: set[str] = field(default_factory=set)
    """Keys of the recipes whose objects the worker holds, with the fingerprint that all copies have."""
    where: dict[str, Any] = field(default_factory=dict)
    descriptions: dict[str, dict[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class _Facts:
    """Facts that an object reported when a worker had created it."""

    facts: dict[str, Any]
    description: dict[str, Any]
    node: str


class Pool:
    """The workers of a cluster.

    `actors` is the cluster, `number` the number of workers, and `note` is called with messages for the user.
    """

    def __init__(self, actors: Actors, number: int, note: Callable[[str], None] | None = None):
        self.actors, self.number = actors, number
        self.note = note or (lambda line: None)
        self.deaths: list[dict[str, Any]] = []
        self._seats = [_Seat(actors.start()) for _ in range(number)]
        self._known: dict[str, _Facts] = {}
        self._rates: dict[tuple[str, str], float] = {}
        """Texts per second of the latest piece, by recipe and function."""
        self._in_a_row, self._heard = 0, 0.0
        self._noted: set[str] = set()
        self._seen: dict[str, dict[str, Any]] = {}

    def facts(self, recipe: Recipe, read: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        """Return the result of `read` and the `fingerprint` of an object, after a first worker has created it.

        `read` is a function of a module. Raises the errors of the creation.
        """
        if recipe.key not in self._known:
            self._run_job(PoolJob(recipe, read, lambda first, last: (), 1, self.number), only_facts=True)
        return self._known[recipe.key].facts

    def apply(self, recipe: Recipe, function: Callable[..., Any], *arguments: Any) -> Any:
        """Apply a function to the model or classifier in a worker, and return its result. Raises the function's
        errors.
        """
        return self._run_job(PoolJob(recipe, function, lambda first, last: arguments, 1, self.number))[0][2]

    def apply_to_pieces(
        self,
        recipe: Recipe,
        function: Callable[..., Any],
        piece: Callable[[int, int], tuple[Any, ...]],
        n: int,
        lost: Callable[[str], Any],
        kept: Callable[[EvenhandError, Answers], None],
    ) -> Answers:
        """Return the results of a model or classifier for n items, divided among the workers; for the parameters see
        `PoolJob`.

        Results come in blocks with their positions, together for all n. Raises the function's errors after running work
        has ended, and a ModelError if workers repeatedly die.
        """
        rate = self._rates.get((recipe.key, function.__name__))
        return self._run_job(PoolJob(recipe, function, piece, n, self.number, rate, lost, kept))

    def description(self, recipe: Recipe) -> list[dict[str, Any]]:
        """Return the last description that each worker gave of its model or classifier."""
        said = [seat.descriptions[recipe.key] for seat in self._seats if recipe.key in seat.descriptions]
        return said or [self._known[recipe.key].description]

    def record(self) -> dict[str, Any]:
        """Return where the work was done, for the manifest."""
        nodes = Counter(where["node"] for where in self._seen.values())
        return {
            "on": self.actors.name,
            "workers": self.number,
            "nodes": dict(sorted(nodes.items())),
            "devices": sorted({self._device(seat) for seat in self._seats} - {""}),
            "deaths": len(self.deaths),
            "died": self.deaths[:LISTED],
        }

    def close(self) -> None:
        """Stop the workers."""
        for seat in self._seats:
            self.actors.stop(seat.worker)

    def _run_job(self, work: PoolJob, *, only_facts: bool = False) -> Answers:
        """Send requests until all work has results. Results of an earlier job that was stopped are waited for and
        dropped.

        only_facts: stop when a first worker has created the object and its facts are known.
        """
        self._heard = time.monotonic()
        while work.is_open or any(seat.work is work for seat in self._seats):
            for seat in self._seats:
                if seat.question is None:
                    self._ask(seat, work, only_facts)
            for seat in self._wait_for_answers():
                self._receive(seat, work)
                if only_facts and work.recipe.key in self._known:
                    return []
            if not self._seen and work.failed is None:
                work.failed = self._check_workers_start()
        return work.answers()

    def _ask(self, seat: _Seat, work: PoolJob, only_facts: bool) -> None:
        if work.failed is not None:
            return
        if not seat.where:
            seat.question = self.actors.ask(seat.worker, "where")
        elif work.recipe.key not in seat.has:
            seat.makes = work.recipe
            read = work.function if only_facts else _read_no_facts
            seat.question = self.actors.ask(seat.worker, "do", work.recipe, _read_facts, (read,))
        elif not only_facts and (span := work.take_piece()) is not None:
            seat.span, seat.work = span, work
            arguments = (work.recipe, work.function, work.piece(span.first, span.last))
            seat.question = self.actors.ask(seat.worker, "do", *arguments)

    def _receive(self, seat: _Seat, work: PoolJob) -> None:
        question, makes, span, of = seat.question, seat.makes, seat.span, seat.work
        seat.question = seat.makes = seat.span = seat.work = None
        wrong: Exception | None = None
        try:
            said = self.actors.answer(question)
        except WorkerDied as death:
            reason = first_line(str(death))
            wrong = self._replace_worker(seat, reason)
            if of is work and span is not None:
                work.resend(span, reason)
        else:
            if makes is not None:
                wrong = self._record_created(seat, makes, said)
            elif span is None:
                wrong = self._record_location(seat, said)
            elif of is work and not isinstance(said, TaskResult):
                wrong = said.error()
            elif of is work:
                work.answer(span, said.answer)
                kind = (work.recipe.key, work.function.__name__)
                self._rates[kind] = work.rate = (span.last - span.first) / max(said.seconds, 1e-6)
                seat.descriptions[work.recipe.key] = said.description
                self._in_a_row = 0
        work.failed = work.failed or wrong

    def _wait_for_answers(self) -> list[_Seat]:
        asked = {id(seat.question): seat for seat in self._seats if seat.question is not None}
        if not asked:
            return []
        ready = self.actors.wait_for_any([seat.question for seat in asked.values()], POLL)
        return [asked[id(question)] for question in ready]

    def _record_location(self, seat: _Seat, where: dict[str, Any]) -> EvenhandError | None:
        """Record the location of a worker; return an error if it cannot be used."""
        seat.where = where
        self._seen[f"{where['node']} {where['pid']}"] = where
        here, there = (versions.get("evenhand") for versions in (installed_versions(), where["versions"]))
        if here != there:
            return ModelError(
                f"{where['node']} has evenhand {there}, but this machine has {here}.",
                "Install the same version on every machine of the cluster.",
            )
        self._report_differences(where)
        return None

    def _record_created(
        self, seat: _Seat, recipe: Recipe, said: TaskResult | TaskRefusal | TaskFailure
    ) -> Exception | None:
        """Record that a worker has created an object; return an error if it failed or differs from other copies."""
        if not isinstance(said, TaskResult):
            return said.error()
        now = _Facts(said.answer, said.description, str(seat.where["node"]))
        known = self._known.setdefault(recipe.key, now)
        if (wrong := _compare_copies(known, now)) is not None:
            return wrong
        seat.has.add(recipe.key)
        return None

    def _replace_worker(self, seat: _Seat, said: str) -> EvenhandError | None:
        """Replace a dead worker by a new one; return an error if workers die repeatedly without a result."""
        node = seat.where.get("node")
        when = datetime.now(UTC).isoformat("T", "seconds")
        self.deaths.append({"at": when, "node": node, "pid": seat.where.get("pid"), "said": said})
        self.note(
            f"a worker{f' on {node}' if node else ''} died; its unfinished requests are sent to another worker"
        )
        self.actors.stop(seat.worker)
        seat.worker, seat.has, seat.where, seat.descriptions = self.actors.start(), set(), {}, {}
        self._in_a_row += 1
        if self._in_a_row < DEATHS + self.number:
            return None
        return ModelError(
            f"Workers on {self.actors.name} died {self._in_a_row} times in a row without a result: {said}.",
            "Often the memory of a machine is too small for this many workers. Use fewer (--workers), or smaller "
            "batches (--batch-tokens). Responses received so far are saved: resume the run.",
        )

    def _report_differences(self, where: dict[str, Any]) -> None:
        """Notify the user, once each, of differences between machines, because their results may differ by rounding."""
        first = next(iter(self._seen.values()))
        before, now = ({**one["versions"], "machine": one["machine"]} for one in (first, where))
        for name in sorted(before.keys() | now.keys()):
            if before.get(name) != now.get(name):
                one, other = f"{before.get(name)} on {first['node']}", f"{now.get(name)} on {where['node']}"
                line = f"workers differ in {name}: {one}, {other}"
                if line not in self._noted:
                    self._noted.add(line)
                    self.note(line)

    def _device(self, seat: _Seat) -> str:
        said = next(iter(seat.descriptions.values()), {})
        return str(said.get("device") or "")

    def _check_workers_start(self) -> EvenhandError | None:
        if time.monotonic() - self._heard < ROOM:
            return None
        return ModelError(
            f"{self.actors.name} could not start a worker within {ROOM:.0f} seconds.",
            "Other programs may use its processors or accelerators (see `ray status` on one of its machines), or "
            "--workers is larger than their number.",
        )


def first_line(reason: str) -> str:
    """Return the first line of a message, shortened."""
    return (reason.strip().splitlines() or ["no reason was given"])[0][:LONGEST].rstrip(".")


def _read_facts(thing: Any, read: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
    return {**read(thing), "fingerprint": as_json(thing.fingerprint)}


def _read_no_facts(thing: Any) -> dict[str, Any]:
    return {}


def _compare_copies(first: _Facts, now: _Facts) -> EvenhandError | None:
    before, after = first.facts["fingerprint"], now.facts["fingerprint"]
    if before == after:
        return None
    differ = [key for key in sorted(before.keys() | after.keys()) if before.get(key) != after.get(key)]
    lines = "; ".join(f"{key}: {before.get(key)!r} and {after.get(key)!r}" for key in differ)
    return ModelError(
        f"The worker on {now.node} loaded another {before.get('name', 'model')} than the one on {first.node}: "
        f"{lines}.",
        "Every machine needs the same copy. Put the same files there, or give a --revision.",
    )
