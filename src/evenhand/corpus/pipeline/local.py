"""Count ranks in processes on this machine; a killed process is replaced, and its rank is counted again."""

import multiprocessing
import signal
import traceback
from collections import Counter, deque
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from evenhand.corpus.pipeline.work import RankDone
from evenhand.schema import EvenhandError, exit_with_parent, one_thread_each, shield_workers_from_signals

Count = Callable[[int], RankDone]
"""Function that counts a rank and stores the counts; it can be sent to another process."""
MOST_DEATHS = 5
"""Number of deaths of processes on one rank, without a finished rank in between, after which counting fails."""
READY = "ready"


def run_in_processes(
    count: Count,
    ranks: Sequence[int],
    workers: int,
    reads: Callable[[int], str],
    note: Callable[[str], None] = lambda message: None,
) -> Generator[RankDone, None, None]:
    """Count ranks in several processes, and yield each when its counts are saved.

    Close the generator to stop; unsaved counts are lost. `reads` describes what a rank reads, for errors. `note` is
    called with a message if a process was killed from outside. Raises the errors of counting, and an EvenhandError if
    the same rank kills its process repeatedly.
    """
    if workers == 1 or len(ranks) == 1:
        for rank in ranks:
            yield count(rank)
        return
    # spawned instead of forked, because a fork copies locks of polars' threads and hangs
    crew = _Crew(multiprocessing.get_context("spawn"))
    left, deaths = deque(ranks), Counter[int | None]()
    try:
        while left or crew.busy:
            with one_thread_each(), shield_workers_from_signals():
                crew.fill(min(workers, len(left) + crew.busy))
            for worker in crew.wait_for_messages():
                said = worker.receive()
                if said is None:  # it is no more
                    crew.members.remove(worker)
                    deaths[worker.rank] += 1
                    if worker.rank is not None:
                        left.append(worker.rank)
                        note(
                            f"The process that counted rank {worker.rank} {worker.end()}; this rank is counted again."
                        )
                    if deaths[worker.rank] >= MOST_DEATHS:
                        raise _explain_death(worker, reads)
                    continue
                if isinstance(said, BaseException):
                    raise said
                if said == READY:
                    worker.tell(count)
                else:
                    deaths.clear()
                    yield said
                if left:
                    worker.order(left.popleft())
                else:
                    crew.dismiss(worker)
    finally:
        crew.end()


def _explain_death(worker: "_Worker", reads: Callable[[int], str]) -> EvenhandError:
    if worker.rank is None:
        return EvenhandError(
            f"Counting processes cannot be started: {MOST_DEATHS} in a row {worker.end()}.",
            "Check that there is enough memory. With --workers 1, no other process is started. A script that "
            'counts needs `if __name__ == "__main__":`.',
        )
    return EvenhandError(
        f"Rank {worker.rank} failed in {MOST_DEATHS} processes: each {worker.end()}, most likely because of too "
        f"little memory. It reads {reads(worker.rank)}.",
        "Results of the other ranks are saved. Run again with fewer --workers, or without that file.",
    )


@dataclass(eq=False)
class _Worker:
    process: BaseProcess
    orders: Connection
    rank: int | None = None

    def order(self, rank: int | None) -> None:
        """Order the worker to count a rank, or to end if `rank` is None."""
        self.rank = rank
        self.tell(rank)

    def tell(self, message: Any) -> None:
        """Send a message, which the worker reads at once."""
        with suppress(OSError):  # the worker has died; the next read reports it
            self.orders.send(message)

    def receive(self) -> Any:
        """Return the next message of the worker; None if it has died."""
        try:
            return self.orders.recv() if self.orders.poll() else None
        except (EOFError, OSError):
            return None

    def end(self) -> str:
        """Return a text that states how the worker ended: its exit code or the signal."""
        self.process.join()
        code = self.process.exitcode or 0
        if code >= 0:
            return f"ended with code {code}"
        names = {int(one): one.name for one in signal.Signals}
        return f"was ended by signal {-code} ({names.get(-code, 'unknown')})"


class _Crew:
    """Processes that count ranks. All of them end when this process ends."""

    def __init__(self, context: Any):
        self._context = context
        self._theirs, self._ours = context.Pipe(duplex=False)
        self.members: list[_Worker] = []
        self._dismissed: list[_Worker] = []

    @property
    def busy(self) -> int:
        """Return the number of processes that are counting a rank."""
        return sum(worker.rank is not None for worker in self.members)

    def fill(self, wanted: int) -> None:
        """Start processes until `wanted` are running."""
        while len(self.members) < wanted:
            mine, its = self._context.Pipe()
            process = self._context.Process(target=_work, args=(its, self._theirs), daemon=True)
            process.start()
            its.close()
            self.members.append(_Worker(process, mine))

    def wait_for_messages(self) -> list[_Worker]:
        """Return the workers that sent a message or died."""
        heard = wait([worker.orders for worker in self.members])
        return [worker for worker in self.members if worker.orders in heard]

    def dismiss(self, worker: _Worker) -> None:
        """End an idle process; another is started if a rank has to be counted again."""
        self.members.remove(worker)
        self._dismissed.append(worker)
        worker.order(None)

    def end(self) -> None:
        """End all workers at once; unsaved ranks are counted again later."""
        self._ours.close()
        everybody = self.members + self._dismissed
        for worker in everybody:
            worker.process.kill()
        for worker in everybody:
            worker.process.join()
            worker.orders.close()
        self._theirs.close()


def _work(orders: Connection, parent: Connection) -> None:
    """Run the loop of a worker process until it receives the order to end.

    The work is sent after the process has started, because a stop during a start with large arguments would leave it
    with half of them.
    """
    exit_with_parent(parent)
    with suppress(EOFError, OSError):  # the parent process has ended
        orders.send(READY)
        count: Count = orders.recv()
        while (rank := orders.recv()) is not None:
            try:
                said: RankDone | Exception = count(rank)
            except Exception as error:
                if not isinstance(error, EvenhandError):
                    error.add_note(traceback.format_exc())
                said = error
            try:
                orders.send(said)
            except (TypeError, AttributeError, ValueError):  # an exception that cannot be sent
                orders.send(RuntimeError("".join(traceback.format_exception(said))))  # type: ignore[arg-type]
