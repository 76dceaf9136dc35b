"""Count ranks with executors of datatrove; a rank counts as finished if the file with its counts exists."""

import contextlib
import io
from typing import Any

from evenhand.corpus.pipeline.stages import COUNTING, Stage
from evenhand.corpus.pipeline.work import CorpusWork, RankDone
from evenhand.schema import UsageError

try:
    from datatrove.executor import LocalPipelineExecutor, SlurmPipelineExecutor
except ImportError as error:
    raise UsageError(
        "`--on datatrove` and `--on slurm` require datatrove, which is not installed.",
        "Install it: pip install 'evenhand[cluster]'",
    ) from error


def build_steps(work: CorpusWork, stage: Stage) -> list[Any]:
    """Return the pipeline of a stage: documents are read and counted, and not passed on."""
    from evenhand.corpus.pipeline.steps import CorpusReader, RankStep, TermCounter

    if stage is not COUNTING:
        return [RankStep(work, stage)]
    # every rank has a piece with a corpus, so the counter needs no default name
    corpus = work.ranks[0][0].corpus
    counter = TermCounter(work.table, work.folder, corpus=corpus, options=work.counting)
    return [CorpusReader(work.ranks, work.reading, counter=counter, work=work), counter]


class KeptRanks:
    """Mixin for an executor: a rank is complete when its result is stored.

    datatrove's own markers are only numbered. Those of other work would count, and they remain when results are
    deleted.
    """

    work: CorpusWork
    stage: Stage

    def is_rank_completed(self, rank: int) -> bool:
        """Return whether a rank is complete."""
        return rank in self.stage.kept(self.work)

    def get_incomplete_ranks(self, ranks: Any = None, skip_completed: bool | None = None) -> list[int]:
        """Return the incomplete ranks, in order."""
        kept = self.stage.kept(self.work)
        every = range(len(self.work.ranks)) if ranks is None else ranks
        return [rank for rank in every if rank not in kept]


class Local(KeptRanks, LocalPipelineExecutor):  # type: ignore[misc]
    """datatrove's executor for one machine, used for one rank at a time.

    Its own pool waits forever for a killed process; `over_processes` counts that rank again.
    """

    def __init__(self, work: CorpusWork, logs: str):
        super().__init__(build_steps(work, COUNTING), tasks=len(work.ranks), logging_dir=logs)
        self.work, self.stage = work, COUNTING

    def count(self, rank: int) -> RankDone:
        """Count a rank; its log and statistics are in the folder of logs."""
        with contextlib.redirect_stderr(io.StringIO()):  # the log contains the same lines
            self._run_for_rank(rank, local_rank=1)
        return self.stage.tell(self.work, rank)


class Slurm(KeptRanks, SlurmPipelineExecutor):  # type: ignore[misc]
    """datatrove's executor for Slurm; Slurm requeues a job whose machine is lost."""

    def __init__(self, work: CorpusWork, stage: Stage, logs: str, **options: Any):
        named = {"job_name": f"evenhand-{stage.name}", "qos": None, **options}
        super().__init__(build_steps(work, stage), tasks=len(work.ranks), logging_dir=logs, **named)
        self.work, self.stage = work, stage
