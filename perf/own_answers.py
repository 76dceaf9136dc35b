"""Measure time and memory of `evenhand measure` for tables of a user's own responses.

    python perf/own_answers.py [ROWS ...]

Tables have 40 groups and 5 regions as axes, 3 questions, and one group that truly differs, drawn with a fixed seed;
labels and numbers, each with independent rows and with three rows per person. One core; the command is a separate
process, so that its start counts.
"""

import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

GROUPS, REGIONS, QUESTIONS = 40, 5, ("wages", "jobs", "life")
ROWS = (50_000, 1_000_000)
ONE = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS")}


def table(rows: int, persons: bool) -> pl.DataFrame:
    """Answers, of three rows a person if there are persons."""
    rng = np.random.default_rng(0)
    each = 3 if persons else 1
    who = np.repeat(rng.integers(0, GROUPS, -(-rows // each)), each)[:rows]
    region = np.repeat(rng.integers(0, REGIONS, -(-rows // each)), each)[:rows]
    frame = pl.DataFrame(
        {
            "who": [f"group {number:02}" for number in who],
            "region": [f"region {number}" for number in region],
            "topic": [QUESTIONS[number % 3] for number in range(rows)],
            "verdict": np.where(rng.random(rows) < 0.3 + 0.06 * (who == 0), "hostile", "neutral"),
            "pay": np.round(40_000 + 6_000 * rng.normal(size=rows) + 1_500 * (who == 0), 2),
        }
    )
    return frame.with_columns(person=pl.Series(np.arange(rows) // 3)) if persons else frame


def measured(path: Path, folder: Path, outcome: list[str], persons: bool) -> tuple[float, float, float]:
    """Return the wall-clock seconds, processor seconds and peak GiB of one command."""
    columns = ["who=group", "region=group", "topic=question", *(["person=unit"] if persons else [])]
    said = [part for column in columns for part in ("--column", column)]
    command = [sys.executable, "-m", "evenhand", "measure", str(path), *said, *outcome, "-o", str(folder)]
    start, log = time.perf_counter(), folder.with_suffix(".txt")
    silent = [(os.POSIX_SPAWN_OPEN, fd, str(log), os.O_WRONLY | os.O_CREAT, 0o600) for fd in (1, 2)]
    process = os.posix_spawn(sys.executable, command, os.environ | ONE, file_actions=silent)
    _, status, used = os.wait4(process, 0)
    if status:
        sys.exit(f"{' '.join(command)} failed:\n{log.read_text()}")
    return time.perf_counter() - start, used.ru_utime + used.ru_stime, used.ru_maxrss / 2**20


def main() -> None:
    """Measure every table."""
    outcomes = {
        "labels": ["--column", "verdict=label", "--negative", "hostile"],
        "numbers": ["--column", "pay=score"],
    }
    with tempfile.TemporaryDirectory() as scratch:
        for rows in [int(word) for word in sys.argv[1:]] or ROWS:
            for persons in (False, True):
                path = Path(scratch) / "answers.csv"
                table(rows, persons).write_csv(path)
                for name, outcome in outcomes.items():
                    folder = Path(scratch) / f"{rows}-{persons}-{name}"
                    clock, processor, memory = measured(path, folder, outcome, persons)
                    kind = "three rows a person" if persons else "each row by itself"
                    print(
                        f"{rows:>9,} rows, {name}, {kind}: {clock:.1f} s ({processor:.1f} s of the processor), "
                        f"{memory:.2f} GiB",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
