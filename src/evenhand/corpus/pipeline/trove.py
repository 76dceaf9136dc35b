"""Ranks counted by executors of datatrove, whose word for a rank that is done is the file of its counts."""

import contextlib
import io
from typing import Any

from evenhand.corpus.pipeline.stages import COUNTING, Stage
from evenhand.corpus.pipeline.work import RankDone, Work
from evenhand.schema import UsageError

try:
    from datatrove.executor import LocalPipelineExecutor, SlurmPipelineExecutor
except ImportError as error:
    raise UsageError(
        "`--on datatrove` and `--on slurm` require datatrove, which is not installed.",
        "Install it: pip install 'evenhand[cluster]'",
    ) from error


def steps_of(work: Work, stage: Stage) -> list[Any]:
    """The pipeline of a stage: documents are read, counted, and go nowhere."""
    from evenhand.corpus.pipeline.steps import CorpusReader, RankStep, TermCounter

    if stage is not COUNTING:
        return [RankStep(work, stage)]
    # every rank has a piece, so its counter never needs a name for documents of no corpus
    corpus = work.ranks[0][0].corpus
    counter = TermCounter(work.table, work.folder, corpus=corpus, options=work.counting)
    return [CorpusReader(work.ranks, work.reading, counter=counter, work=work), counter]


class KeptRanks:
    """In front of an executor: a rank is done when what it gives is kept.

    datatrove's own markers are by number, so that those of other work would count, and outlive what they stand for.
    """

    work: Work
    stage: Stage

    def is_rank_completed(self, rank: int) -> bool:
        """Whether a rank is done."""
        return rank in self.stage.kept(self.work)

    def get_incomplete_ranks(self, ranks: Any = None, skip_completed: bool | None = None) -> list[int]:
        """Ranks that are not, in order."""
        kept = self.stage.kept(self.work)
        every = range(len(self.work.ranks)) if ranks is None else ranks
        return [rank for rank in every if rank not in kept]


class Local(KeptRanks, LocalPipelineExecutor):  # type: ignore[misc]
    """Datatrove's executor for one machine, used for one rank at a time.

    Its own pool waits forever for a killed process; `over_processes` counts that rank again.
    """

    def __init__(self, work: Work, logs: str):
        super().__init__(steps_of(work, COUNTING), tasks=len(work.ranks), logging_dir=logs)
        self.work, self.stage = work, COUNTING

    def count(self, rank: int) -> RankDone:
        """Count a rank; its log and statistics are in the folder of logs."""
        with contextlib.redirect_stderr(io.StringIO()):  # which the log holds as well
            self._run_for_rank(rank, local_rank=1)
        return self.stage.tell(self.work, rank)


class Slurm(KeptRanks, SlurmPipelineExecutor):  # type: ignore[misc]
    """datatrove's executor for Slurm; Slurm takes back a job whose machine is lost."""

    def __init__(self, work: Work, stage: Stage, logs: str, **options: Any):
        named = {"job_name": f"evenhand-{stage.name}", "qos": None, **options}
        super().__init__(steps_of(work, stage), tasks=len(work.ranks), logging_dir=logs, **named)
        self.work, self.stage = work, stage
