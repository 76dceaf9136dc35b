"""Blocks of replications over processes. A block is written whole or not at all, whoever drew it."""

import multiprocessing
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from evenhand.schema import Interrupted
from evenhand.studies.calibration.designs import design_of
from evenhand.studies.calibration.moves import HALVES, MOVED, halves, moves
from evenhand.studies.calibration.record import read_shard, shard_path, write_shard
from evenhand.studies.calibration.schedule import Arm
from evenhand.studies.calibration.trial import RECORD, record

ONE_THREAD = ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
"""Each process has one core."""


@dataclass(frozen=True)
class Block:
    """Some replications of an arm."""

    arm: Arm
    number: int
    replications: range

    def path(self, folder: Path) -> Path:
        """Where they lie."""
        return shard_path(folder, self.arm.design, self.arm.name, self.number)


def blocks_of(arms: Iterable[Arm], folder: Path) -> list[Block]:
    """Blocks that are not there yet."""
    every = (Block(arm, number, part) for arm in arms for number, part in arm.blocks())
    return [block for block in every if not block.path(folder).is_file()]


def drawn(folder: Path, blocks: list[Block], seed: int, jobs: int) -> Iterator["BlockDone"]:
    """Draw blocks and write them; yields each as it is on disk, or as it failed.

    Raises Interrupted (what is written stays, the same command goes on) and WriteError.
    """
    try:
        if jobs == 1 or len(blocks) < 2:
            for block in blocks:
                yield draw_block(folder, block, seed)
        else:
            yield from _over_processes(folder, blocks, seed, jobs)
    except KeyboardInterrupt as stop:
        raise Interrupted(
            "Stopped.", f"What was drawn lies in {folder}; the same command with -o {folder} goes on from it."
        ) from stop


def _over_processes(folder: Path, blocks: list[Block], seed: int, jobs: int) -> Iterator["BlockDone"]:
    with _one_thread_each():
        # Spawned, not forked: a fork copies locks of polars' threads and hangs.
        pool = ProcessPoolExecutor(min(jobs, len(blocks)), multiprocessing.get_context("spawn"))
        waiting: list[Future[BlockDone]] = [pool.submit(draw_block, folder, block, seed) for block in blocks]
        try:
            for done in as_completed(waiting):
                yield done.result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


@dataclass(frozen=True)
class BlockDone:
    """design: whose it was. replications: how many are on disk now. failure: why there are none."""

    design: str
    replications: int
    failure: str | None = None


def draw_block(folder: Path, block: Block, seed: int) -> BlockDone:
    """Draw one block and write it. A measure or design that fails loses its own block and nothing else."""
    name = block.arm.design
    names = (seed, name, block.arm.name)
    how, schema = {"moves": (moves, MOVED), "halves": (halves, HALVES)}.get(block.arm.kind, (record, RECORD))
    try:
        design = design_of(name)
        rows = [row for number in block.replications for row in how(design, block.arm.plant, number, *names)]
    except Exception as error:  # whatever a measure does with a table, the others are calibrated
        return BlockDone(name, 0, f"{type(error).__name__}: {error}".splitlines()[0])
    write_shard(block.path(folder), pl.DataFrame(rows, schema=schema))
    return BlockDone(name, len(block.replications))


def read_arm(folder: Path, arm: Arm) -> pl.DataFrame | None:
    """The rows of an arm, in the order of replications; None if none is there."""
    parts = [read_shard(Block(arm, number, part).path(folder)) for number, part in arm.blocks()]
    there = [part for part in parts if part is not None]
    return pl.concat(there) if there else None


@contextmanager
def _one_thread_each() -> Iterator[None]:
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
