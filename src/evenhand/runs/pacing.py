"""Process work in shards, and choose the size of each shard by the duration of the previous one."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import polars as pl

from evenhand.runs.stopping import Stopping
from evenhand.schema import EvenhandError
from evenhand.services import note_earlier_responses


@dataclass(frozen=True)
class ShardSizes:
    """Sizes of shards: `first` and at most `largest` rows, and a duration of about `shard_seconds`."""

    first: int = 256
    largest: int = 32768
    shard_seconds: float = 30.0


def in_shards(
    pending: pl.DataFrame,
    ask: Callable[[pl.DataFrame], pl.DataFrame],
    store: Callable[[pl.DataFrame], None],
    stopping: Stopping,
    sizes: ShardSizes,
    answered: bool,
) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
    """Process and store rows shard by shard; a stop drops the shard in progress, unless it is being stored.

    pending: rows in the order of processing. ask: function that returns the results of some rows. store: function that
    writes them. answered: whether rows of this kind were processed before.
    Yields the rows of a shard and their results, after they are stored. If a shard ends with an EvenhandError, the
    finished rows are yielded first. Raises StopRequested, and the errors of `ask` and `store`.
    """
    start, size = 0, max(min(sizes.first, sizes.largest), 1)
    while start < pending.height:
        began = time.monotonic()
        piece = pending.slice(start, size)
        try:
            with stopping.in_flight(), note_earlier_responses(answered):
                rows = ask(piece)
        except EvenhandError as error:
            if error.rows is not None:  # finished rows need not be processed again
                settled, rows = error.rows
                store(rows)
                yield settled, rows
            raise
        store(rows)
        answered = answered or rows["error"].null_count() > 0
        yield piece, rows
        start += piece.height
        size = next_size(size, time.monotonic() - began, sizes.shard_seconds, sizes.largest)


def next_size(size: int, seconds: float, target: float, largest: int) -> int:
    """Return the size of the next shard: doubled below half the target duration, halved above twice the target.

    >>> next_size(256, 1.0, 30.0, 32768), next_size(256, 90.0, 30.0, 32768), next_size(256, 20.0, 30.0, 32768)
    (512, 128, 256)
    """
    if seconds * 2 < target:
        return min(size * 2, max(largest, 1))
    return max(size // 2, 1) if seconds > target * 2 else size
