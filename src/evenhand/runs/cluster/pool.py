"""Workers that answer side by side: who is free gets the next piece, and what a dead one was asked is asked again."""

import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from evenhand.runs.cluster.hands import Died, Hands
from evenhand.runs.cluster.worker import LONGEST, Broken, Done, Recipe, Refused
from evenhand.runs.environment import this_environment
from evenhand.schema import EvenhandError, ModelError, as_json

PIECES = 2
"""Of what is left a free worker gets its share divided by this: large pieces first, small ones at the end, so that
fast and slow workers end together."""
SMALLEST = 16
"""The smallest piece is this part of a worker's share, so that a piece's own cost stays small."""
POLL = 0.2
"""Seconds between two looks at whether somebody wants to stop."""
DEATHS = 6
"""Deaths in a row, beside one a worker, with nothing answered between them, that end the work."""
ROOM = 600.0
"""Seconds in which a cluster must find room for at least one worker."""
LISTED = 20
"""Deaths that the record tells one by one."""
FATAL = "WorkerDied: the worker died each time it was asked this text"


@dataclass
class _Span:
    """A piece of what is asked, by the places of its first and behind its last."""

    first: int
    last: int
    deaths: int = 0


@dataclass
class _Seat:
    """One worker's place; another worker takes it when it dies."""

    worker: Any
    question: Any = None
    """What it is being asked, unless it is free: a piece of work, to make something, or else where it is."""
    span: _Span | None = None
    turn: int = 0
    """Of which work the piece is: an answer to an earlier one, which a stop left behind, is dropped."""
    makes: Recipe | None = None
    has: set[str] = field(default_factory=set)
    """Keys of the recipes whose thing it holds, with the fingerprint that all have."""
    where: dict[str, Any] = field(default_factory=dict)
    descriptions: dict[str, dict[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class _Facts:
    """What a thing said of itself when a worker had made it."""

    facts: dict[str, Any]
    description: dict[str, Any]
    node: str


class Pool:
    """Workers of a cluster.

    hands: of the cluster. number: of workers. note: told what a user should know meanwhile.
    """

    def __init__(self, hands: Hands, number: int, note: Callable[[str], None] | None = None):
        self.hands, self.number = hands, number
        self.note = note or (lambda line: None)
        self.deaths: list[dict[str, Any]] = []
        self._seats = [_Seat(hands.start()) for _ in range(number)]
        self._known: dict[str, _Facts] = {}
        self._turn = self._in_a_row = 0
        self._noted: set[str] = set()
        self._seen: dict[str, dict[str, Any]] = {}

    def facts(self, recipe: Recipe, read: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        """What `read` says of a thing, once a first worker has made it; others make it meanwhile.

        read: a function of a module; it says at least `fingerprint`. Raises what making it raised.
        """
        if recipe.key not in self._known:
            self._work(recipe, read, lambda first, last: (), 1, first_facts=True)
        return self._known[recipe.key].facts

    def there(self, recipe: Recipe, function: Callable[..., Any], *arguments: Any) -> Any:
        """What a function makes of the thing in a worker; raises as it raises."""
        return self._work(recipe, function, lambda first, last: arguments, 1)[0][2]

    def divided(
        self,
        recipe: Recipe,
        function: Callable[..., Any],
        piece: Callable[[int, int], tuple[Any, ...]],
        n: int,
        lost: Callable[[str], Any],
        kept: Callable[[EvenhandError, list[tuple[int, int, Any]]], None],
    ) -> list[tuple[int, int, Any]]:
        """Answers of the thing to n things asked, divided among the workers.

        function: answers a piece. piece: its arguments for those from one place to before another. lost: the answer for
        one that was fatal to every worker that was asked it, from a sentence. kept: told, with an error of the user's
        that ends the work, what was answered before it.
        Returns (first, last, answer) by place, together all n. Raises as the function raises, once those that are still
        at work have ended, and ModelError where workers only die.
        """
        return self._work(recipe, function, piece, n, lost=lost, kept=kept)

    def description(self, recipe: Recipe) -> list[dict[str, Any]]:
        """What each worker that has answered last said of its thing."""
        said = [seat.descriptions[recipe.key] for seat in self._seats if recipe.key in seat.descriptions]
        return said or [self._known[recipe.key].description]

    def record(self) -> dict[str, Any]:
        """Where the work was done: for the manifest."""
        nodes = Counter(where["node"] for where in self._seen.values())
        return {
            "on": self.hands.name,
            "workers": self.number,
            "nodes": dict(sorted(nodes.items())),
            "devices": sorted({self._device(seat) for seat in self._seats} - {""}),
            "deaths": len(self.deaths),
            "died": self.deaths[:LISTED],
        }

    def close(self) -> None:
        """End the workers and leave the cluster."""
        for seat in self._seats:
            self.hands.stop(seat.worker)
        self.hands.close()

    def _work(
        self,
        recipe: Recipe,
        function: Callable[..., Any],
        piece: Callable[[int, int], tuple[Any, ...]],
        n: int,
        *,
        lost: Callable[[str], Any] | None = None,
        kept: Callable[[EvenhandError, list[tuple[int, int, Any]]], None] | None = None,
        first_facts: bool = False,
    ) -> list[tuple[int, int, Any]]:
        self._turn += 1
        ahead, again = 0, deque[_Span]()
        done: list[tuple[int, int, Any]] = []
        failed: EvenhandError | Exception | None = None
        there, heard = 0, time.monotonic()
        while (there < n and failed is None) or self._at_work():
            for seat in self._seats if failed is None else ():
                if seat.question is not None:
                    continue
                if not seat.where:
                    seat.question = self.hands.ask(seat.worker, "where")
                elif recipe.key not in seat.has:
                    read = function if first_facts else _nothing
                    seat.makes = recipe
                    seat.question = self.hands.ask(seat.worker, "do", recipe, _facts_of, (read,))
                elif not first_facts and (ahead < n or again):
                    # What a worker died of comes last: others are not kept from their answers.
                    span = _Span(ahead, self._end(ahead, n)) if ahead < n else again.popleft()
                    ahead = max(ahead, span.last)
                    seat.span, seat.turn = span, self._turn
                    arguments = (recipe, function, piece(span.first, span.last))
                    seat.question = self.hands.ask(seat.worker, "do", *arguments)
            for seat in self._answered():
                span, mine = seat.span, seat.turn == self._turn
                making, question = seat.makes, seat.question
                seat.question = seat.span = seat.makes = None
                try:
                    said = self.hands.answer(question)
                except Died as death:
                    hopeless = self._replaced(seat, str(death))
                    failed = failed or hopeless
                    if span is not None and mine:
                        settled = self._after_death(span, again, lost, str(death))
                        done += settled
                        there += len(settled)
                    continue
                if making is not None:
                    failed = failed or self._made(seat, making, said)
                    if first_facts and recipe.key in self._known:
                        return []
                elif span is not None and mine:
                    if isinstance(said, Done):
                        done.append((span.first, span.last, said.answer))
                        seat.descriptions[recipe.key] = said.description
                        there += span.last - span.first
                        self._in_a_row, heard = 0, time.monotonic()
                    else:
                        failed = failed or said.error()
                elif span is None:
                    failed = failed or self._come(seat, said)
            if failed is None and not self._seen:
                self._check_room(heard)
        done.sort(key=lambda one: one[:2])
        if failed is not None:
            if isinstance(failed, EvenhandError) and kept is not None and done:
                kept(failed, done)
            raise failed
        return done

    def _at_work(self) -> bool:
        """Whether pieces of the work at hand are still with workers."""
        return any(seat.span is not None and seat.turn == self._turn for seat in self._seats)

    def _end(self, ahead: int, n: int) -> int:
        share = -(-n // self.number)
        left = -(-(n - ahead) // (PIECES * self.number))
        return min(ahead + max(left, share // SMALLEST, 1), n)

    def _answered(self) -> list[_Seat]:
        asked = {id(seat.question): seat for seat in self._seats if seat.question is not None}
        if not asked:
            return []
        ready = self.hands.ready([seat.question for seat in asked.values()], POLL)
        return [asked[id(question)] for question in ready]

    def _come(self, seat: _Seat, where: dict[str, Any]) -> EvenhandError | None:
        """Take note of where a worker is; returns why it cannot stay, if it cannot."""
        seat.where = where
        self._seen[f"{where['node']} {where['pid']}"] = where
        here, there = (
            versions.get("evenhand") for versions in (this_environment().versions, where["versions"])
        )
        if here != there:
            return ModelError(
                f"{where['node']} has evenhand {there}, and here is {here}.",
                "Install the same version on every machine of the cluster.",
            )
        self._tell_differences(where)
        return None

    def _made(self, seat: _Seat, recipe: Recipe, said: Done | Refused | Broken) -> Exception | None:
        """Take a worker in that has made a thing; returns why not, if it cannot be."""
        if not isinstance(said, Done):
            return said.error()
        now = _Facts(said.answer, said.description, str(seat.where["node"]))
        known = self._known.setdefault(recipe.key, now)
        if (wrong := _unlike(known, now)) is not None:
            return wrong
        seat.has.add(recipe.key)
        return None

    def _replaced(self, seat: _Seat, reason: str) -> EvenhandError | None:
        """Another worker in the place of a dead one; an error where they only die."""
        said = first_line(reason)
        node = seat.where.get("node")
        when = datetime.now(UTC).isoformat("T", "seconds")
        self.deaths.append({"at": when, "node": node, "pid": seat.where.get("pid"), "said": said})
        self.note(f"a worker{f' on {node}' if node else ''} died; what it was asked is asked again")
        self.hands.stop(seat.worker)
        seat.worker, seat.has, seat.where, seat.descriptions = self.hands.start(), set(), {}, {}
        self._in_a_row += 1
        if self._in_a_row < DEATHS + self.number:
            return None
        return ModelError(
            f"Workers on {self.hands.name} died {self._in_a_row} times in a row, and nothing was answered between: "
            f"{said}.",
            "Often the memory of a machine does not hold so many workers: fewer (--workers), or smaller batches "
            "(--batch-tokens). What was answered before is kept: resume the run.",
        )

    def _after_death(
        self, span: _Span, again: deque[_Span], lost: Callable[[str], Any] | None, reason: str
    ) -> list[tuple[int, int, Any]]:
        """Have what a worker died of asked again: as it was, then in halves, until one text stands alone."""
        span.deaths += 1
        if span.deaths < 2:
            again.append(span)
        elif span.last - span.first > 1:
            middle = (span.first + span.last) // 2
            again += [_Span(span.first, middle, 1), _Span(middle, span.last, 1)]
        elif lost is None:
            again.append(span)  # no text of anybody's: it ends when workers only die
        else:
            return [(span.first, span.last, lost(f"{FATAL} ({first_line(reason)})"))]
        return []

    def _tell_differences(self, where: dict[str, Any]) -> None:
        """Note, once each, in what machines are not alike: their numbers may then differ by rounding."""
        first = next(iter(self._seen.values()))
        before, now = ({**one["versions"], "machine": one["machine"]} for one in (first, where))
        for name in sorted(before.keys() | now.keys()):
            if before.get(name) != now.get(name):
                line = f"workers differ in {name}: {before.get(name)} on {first['node']}, {now.get(name)} on {where['node']}"
                if line not in self._noted:
                    self._noted.add(line)
                    self.note(line)

    def _device(self, seat: _Seat) -> str:
        said = next(iter(seat.descriptions.values()), {})
        return str(said.get("device") or "")

    def _check_room(self, since: float) -> None:
        if time.monotonic() - since > ROOM:
            raise ModelError(
                f"{self.hands.name} has found no room for a worker in {ROOM:.0f} seconds.",
                "Other programs may hold its processors or accelerators (`ray status` on one of its machines), or "
                "--workers asks for more than there are.",
            )


def first_line(reason: str) -> str:
    """What a message begins with, fit for one line."""
    return (reason.strip().splitlines() or ["no reason was given"])[0][:LONGEST].rstrip(".")


def _facts_of(thing: Any, read: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
    return {**read(thing), "fingerprint": as_json(thing.fingerprint)}


def _nothing(thing: Any) -> dict[str, Any]:
    return {}


def _unlike(first: _Facts, now: _Facts) -> EvenhandError | None:
    before, after = first.facts["fingerprint"], now.facts["fingerprint"]
    if before == after:
        return None
    differ = [key for key in sorted(before.keys() | after.keys()) if before.get(key) != after.get(key)]
    lines = "; ".join(f"{key}: {before.get(key)!r} and {after.get(key)!r}" for key in differ)
    return ModelError(
        f"The worker on {now.node} holds another {before.get('name', 'model')} than that on {first.node}: {lines}.",
        "Every machine must have the same copy: put the same files there, or name a --revision.",
    )
