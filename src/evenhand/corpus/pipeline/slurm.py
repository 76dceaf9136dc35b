"""Count ranks in Slurm jobs, which continue after the command that submitted them has ended."""

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.corpus.pipeline.stages import Stage
from evenhand.corpus.pipeline.work import CorpusWork, RankDone
from evenhand.schema import EvenhandError, UsageError, is_file, read_json, write_json

if TYPE_CHECKING:
    from evenhand.corpus.pipeline.trove import Slurm

LOOK = 2.0
"""Seconds between checks for new counts."""
ASK = 20.0
"""Seconds between checks whether jobs still exist."""
SENT = "slurm-job.json"
NEEDED = ("partition", "time")
TAKEN = (
    *("partition", "time", "qos", "cpus_per_task", "mem_per_cpu_gb", "workers", "tasks_per_job", "job_name"),
    *("env_command", "condaenv", "venv_path", "sbatch_args", "srun_args", "max_array_size", "requeue"),
    *("requeue_signals", "mail_type", "mail_user", "slurm_logs_folder", "with_srun", "job_id_position"),
)
"""Options of datatrove's SlurmPipelineExecutor that are allowed."""


def check_slurm_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of Slurm if they are valid.

    Raises a UsageError for unknown and missing options, and if Slurm or datatrove (which sends the jobs) is not
    installed.

    >>> check_slurm_options({"partition": "cpu"})
    Traceback (most recent call last):
    evenhand.schema.errors.UsageError: `--on slurm` requires slurm.time...
    """
    if unknown := [name for name in options if name not in TAKEN]:
        raise UsageError(
            f"Unknown option slurm.{unknown[0]}.",
            f"Known: {', '.join(f'slurm.{name}' for name in TAKEN)}.",
        )
    if missing := [f"slurm.{name}" for name in NEEDED if not options.get(name)]:
        raise UsageError(
            f"`--on slurm` requires {' and '.join(missing)}.",
            "For example: --set slurm.partition=cpu --set slurm.time=02:00:00",
        )
    if shutil.which("sbatch") is None:
        raise UsageError(
            "`--on slurm`: `sbatch` was not found on this machine.",
            "Run the command on a machine that can submit jobs, or choose another --on.",
        )
    if "SLURM_ARRAY_TASK_ID" in os.environ:
        raise UsageError(
            "`--on slurm`: this process is itself a task of a Slurm array.",
            "Submit jobs from outside of the array, or use --on local.",
        )
    from evenhand.corpus.pipeline import trove  # noqa: F401  # which says where datatrove is missing

    return dict(options)


def run_on_slurm(
    work: CorpusWork, stage: Stage, logs: str, options: Mapping[str, Any], note: Callable[[str], None]
) -> Generator[RankDone, None, None]:
    """Submit jobs for the unfinished ranks of a stage, unless earlier jobs still run; yield finished ranks.

    Close the generator to leave the jobs running. Raises UsageError as `check_slurm_options` does, and EvenhandError if
    jobs have ended and ranks are missing.
    """
    named = check_slurm_options(options)
    total = len(work.ranks)
    told = stage.kept(work)
    job = _read_job(Path(logs))
    if job is not None and _is_running(job):
        note(f"Job {job}, which was submitted earlier, is still running.")
    else:
        from evenhand.corpus.pipeline.trove import Slurm

        job = _submit(Slurm(work, stage, logs, **named))
        write_json(Path(logs) / SENT, {"job": job})
        note(f"Submitted job {job}. Its logs are in {logs}.")
    asked, gone = time.monotonic(), False
    while len(told) < total:
        for rank in sorted(stage.kept(work) - told):
            told.add(rank)
            yield stage.tell(work, rank)
        if len(told) == total:
            break
        if gone:
            raise _make_ended_error(work, job, logs, sorted(set(range(total)) - told))
        if time.monotonic() - asked > ASK:
            # counts that arrive at the last moment are still used
            asked, gone = time.monotonic(), not _is_running(job)
        if not gone:
            time.sleep(LOOK)


def _submit(executor: "Slurm") -> str:
    from datatrove.utils.logging import logger

    logger.disable("datatrove")  # its lines on standard error repeat ours
    try:
        executor.run()
    except (OSError, subprocess.CalledProcessError) as error:
        raise EvenhandError(
            f"Slurm rejected the job: {error}.",
            "See the message of sbatch above. Give its options as --set slurm.NAME=VALUE.",
        ) from error
    finally:
        logger.enable("datatrove")
    return str(executor.job_id)


def _read_job(logs: Path) -> str | None:
    if not is_file(logs / SENT):
        return None
    content = read_json(logs / SENT, "Delete the file. The jobs are then submitted again.")
    return str(content["job"]) if isinstance(content, dict) and "job" in content else None


def _is_running(job: str) -> bool:
    """Return whether Slurm still has a job, waiting or running."""
    if shutil.which("squeue") is None:
        return True
    asked = subprocess.run(["squeue", "-h", "-o", "%i", "-j", job], capture_output=True, text=True)
    if asked.returncode == 0:
        return bool(asked.stdout.strip())
    return "invalid job id" not in asked.stderr.lower()  # if Slurm does not respond, the job may still exist


def _make_ended_error(work: CorpusWork, job: str, logs: str, missing: list[int]) -> EvenhandError:
    return EvenhandError(
        f"Slurm job {job} ended, but {len(missing):,} of {len(work.ranks):,} ranks are not finished; the first, "
        f"{missing[0]}, reads {work.reads(missing[0])}.",
        f"See the logs in {logs}/logs and {logs}/slurm_logs. The same command submits these ranks again. For more "
        "memory: --set slurm.mem_per_cpu_gb=8; for more time: --set slurm.time=08:00:00.",
    )
