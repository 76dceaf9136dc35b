"""Places where ranks are counted: local processes, local datatrove, Slurm, or Ray."""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from evenhand.corpus.pipeline.local import run_in_processes
from evenhand.corpus.pipeline.stages import COUNTING, Stage
from evenhand.corpus.pipeline.work import CorpusWork, RankDone

PLACES = ("local", "datatrove", "slurm", "ray", "auto")
"""Values of the option `on`, in addition to the URL of a Ray cluster."""


@dataclass(frozen=True)
class CountingPlace:
    """Where to count, with how many processes (None: one per processor), and the folder of its logs."""

    name: str
    logs: str
    workers: int | None = None
    slurm: Mapping[str, Any] = field(default_factory=dict)


def do_ranks(
    place: CountingPlace, work: CorpusWork, stage: Stage, processors: int, note: Callable[[str], None]
) -> Generator[RankDone, None, None]:
    """Process the unfinished ranks of a stage at a place; yield each when it is saved. Close the generator to stop.

    Raises UsageError for missing packages or invalid settings, EvenhandError if a rank kills its process repeatedly,
    and the errors of counting.

    Parameters
    ----------
    processors
        Number on this machine.
    note
        Called with messages for the user.
    """
    kept = stage.kept(work)
    left = [rank for rank in range(len(work.ranks)) if rank not in kept]
    match place.name:
        case "slurm":
            from evenhand.corpus.pipeline.slurm import run_on_slurm

            return run_on_slurm(work, stage, f"{place.logs}/{stage.name}", place.slurm, note)
        case name if name == "auto" or name.startswith("ray"):
            from evenhand.corpus.pipeline.on_ray import run_on_ray

            return run_on_ray(name, work, stage, left, place.workers)
        case "datatrove" if stage is COUNTING:  # hashes are no documents
            from evenhand.corpus.pipeline.trove import Local

            count = Local(work, f"{place.logs}/{stage.name}").count
        case _:
            count = partial(stage.run, work)
    return run_in_processes(count, left, place.workers or processors, work.reads, note)
