"""Where ranks are counted: processes here, datatrove here, Slurm, or Ray."""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from evenhand.corpus.pipeline.local import over_processes
from evenhand.corpus.pipeline.work import RankDone, Work, count_rank

PLACES = ("local", "datatrove", "slurm", "ray", "auto")
"""Besides the address of a Ray cluster."""


@dataclass(frozen=True)
class Place:
    """Where, with how many processes at once (None: as many as there are processors), and where its logs go."""

    name: str
    logs: str
    workers: int | None = None
    slurm: Mapping[str, Any] = field(default_factory=dict)


def count_at(
    place: Place, work: Work, ranks: Sequence[int], processors: int, note: Callable[[str], None]
) -> Generator[RankDone, None, None]:
    """Count ranks at a place; yields each as its counts are kept. Close it to stop.

    processors: of this machine. note: is told what a reader should know now.
    Raises UsageError for what is not installed or wrongly set, what counting raises, EvenhandError for a rank that ends
    its process again and again.
    """
    match place.name:
        case "slurm":
            from evenhand.corpus.pipeline.slurm import on_slurm

            return on_slurm(work, place.logs, place.slurm, note)
        case name if name == "auto" or name.startswith("ray"):
            from evenhand.corpus.pipeline.on_ray import on_ray

            return on_ray(name, work, ranks, place.workers)
        case "datatrove":
            from evenhand.corpus.pipeline.trove import Local

            count = Local(work, place.logs).count
        case _:
            count = partial(count_rank, work)
    return over_processes(count, ranks, place.workers or processors, work.reads, note)
