"""Work done and stored shard by shard, the size of each shard chosen by how long the one before took."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import polars as pl

from evenhand.runs.stopping import Stopping
from evenhand.schema import EvenhandError
from evenhand.services import answered_before


@dataclass(frozen=True)
class ShardSizes:
    """How large shards are: `first` and at most `largest` rows, and about `shard_seconds` of work."""

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
    """Ask and store shard by shard; a stop drops the one in flight, never one that is being stored.

    Arguments: pending: in the order to be asked. ask: makes the rows of some. store: writes them. answered:
    whether some of this kind have been answered before.
    Yields: what was asked together and its rows, once they are stored; of a shard that ends in an EvenhandError what
    was settled before it. Raises StopRequested, and what ask and store raise.
    """
    start, size = 0, max(min(sizes.first, sizes.largest), 1)
    while start < pending.height:
        began = time.monotonic()
        piece = pending.slice(start, size)
        try:
            with stopping.in_flight(), answered_before(answered):
                rows = ask(piece)
        except EvenhandError as error:
            if error.rows is not None:  # what is settled need not be asked again
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
    """The next shard's size: doubled while shards take under half the target, halved past its double.

    >>> next_size(256, 1.0, 30.0, 32768), next_size(256, 90.0, 30.0, 32768), next_size(256, 20.0, 30.0, 32768)
    (512, 128, 256)
    """
    if seconds * 2 < target:
        return min(size * 2, max(largest, 1))
    return max(size // 2, 1) if seconds > target * 2 else size
