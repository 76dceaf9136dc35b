"""Distribute blocks of replications over processes. Each block is written completely or not at all."""

import multiprocessing
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.schema import EvenhandError, exit_with_parent, one_thread_each, shield_workers_from_signals
from evenhand.studies.calibration.designs import find_design
from evenhand.studies.calibration.moves import HALVES, MOVED, halves, moves
from evenhand.studies.calibration.record import Schema, read_shard, shard_path, write_shard
from evenhand.studies.calibration.schedule import Arm
from evenhand.studies.calibration.trial import RECORD, record

Drawing = Callable[..., list[dict[str, Any]]]
WAITING = 4
"""Blocks for each process that are handed to it or wait."""


@dataclass(frozen=True)
class Block:
    """Some replications of an arm."""

    arm: Arm
    number: int
    replications: range

    def path(self, folder: Path) -> Path:
        """Return the file of the block."""
        return shard_path(folder, self.arm.design, self.arm.name, self.number)


def list_missing_blocks(arms: Iterable[Arm], folder: Path) -> list[Block]:
    """Return the blocks that are not stored yet."""
    every = (Block(arm, number, part) for arm in arms for number, part in arm.blocks())
    return [block for block in every if not block.path(folder).is_file()]


def simulate_blocks(
    folder: Path, blocks: list[Block], seed: int, jobs: int
) -> Generator["BlockDone", None, None]:
    """Simulate blocks and write them; yield each block when it is written or has failed.

    Close the generator to stop (`closing`). Raises WriteError, and EvenhandError if a process was killed (written
    blocks remain).
    """
    if jobs == 1 or len(blocks) < 2:
        for block in blocks:
            yield draw_block(folder, block, seed)
    else:
        yield from _over_processes(folder, blocks, seed, min(jobs, len(blocks)))


def _over_processes(
    folder: Path, blocks: list[Block], seed: int, jobs: int
) -> Generator["BlockDone", None, None]:
    # Processes are spawned: a fork copies the locks of polars' threads and hangs.
    context = multiprocessing.get_context("spawn")
    theirs, ours = context.Pipe(duplex=False)
    with one_thread_each():
        pool = ProcessPoolExecutor(jobs, context, exit_with_parent, (theirs,))
        coming = iter(blocks)
        waiting: set[Future[BlockDone]] = set()
        try:
            while True:
                # submit only the next blocks: a future for every block would fill the memory
                with shield_workers_from_signals():
                    for block in islice(coming, WAITING * jobs - len(waiting)):
                        waiting.add(pool.submit(draw_block, folder, block, seed))
                if not waiting:
                    break
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                for one in done:
                    yield one.result()
            pool.shutdown()
        except BrokenProcessPool as error:
            raise EvenhandError(
                "A worker process was killed or crashed, most likely because of too little memory.",
                f"Finished replications are stored in {folder}. To resume, run the same command with -o {folder} "
                f"and fewer --jobs (now {jobs}).",
            ) from error
        finally:
            ours.close()  # running workers end at once; unwritten blocks are simulated again
            pool.shutdown(wait=True, cancel_futures=True)
            theirs.close()


@dataclass(frozen=True)
class BlockDone:
    """Result of one block.

    ``design`` is its design. ``replications`` is the number on disk. ``failure`` is the reason if there are none.
    """

    design: str
    replications: int
    failure: str | None = None


def draw_block(folder: Path, block: Block, seed: int) -> BlockDone:
    """Simulate one block and write it. If a measure or design fails, only this block is lost."""
    name = block.arm.design
    names = (seed, name, block.arm.name)
    how, schema = _drawing(block.arm)
    try:
        design = find_design(name)
        rows = [row for number in block.replications for row in how(design, block.arm.plant, number, *names)]
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # even sys.exit or a panic in one measure must not stop the others
        return BlockDone(name, 0, f"{type(error).__name__}: {error}".splitlines()[0])
    write_shard(block.path(folder), pl.DataFrame(rows, schema=schema))
    return BlockDone(name, len(block.replications))


def _drawing(arm: Arm) -> tuple[Drawing, Schema]:
    """Return the function that simulates a replication of an arm, and the columns of its result."""
    drawings: dict[str, tuple[Drawing, Schema]] = {"moves": (moves, MOVED), "halves": (halves, HALVES)}
    return drawings.get(arm.kind, (record, RECORD))


def read_arm(folder: Path, arm: Arm) -> pl.DataFrame | None:
    """Return the rows of an arm, in the order of replications; None without any. DataError if a shard is damaged."""
    how, schema = _drawing(arm)
    # the number of rows is unknown without named measures, and for moves and halves
    each = len(find_design(arm.design).judged) if how is record else 0
    parts = [
        read_shard(Block(arm, number, part).path(folder), schema, part, each) for number, part in arm.blocks()
    ]
    there = [part for part in parts if part is not None]
    return pl.concat(there) if there else None
