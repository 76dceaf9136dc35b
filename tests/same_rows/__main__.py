"""Are the rows of a fixed set of runs the same as at an earlier commit, and do its run folders still serve?

    python -m tests.same_rows                      # against 678b6a2, some minutes
    python -m tests.same_rows --base ../checkout   # against the sources of another folder

Knows only the command line, public names of `evenhand` and files, so that the tree may be rearranged between the
two commits. Both run in the same interpreter, with the same inputs, seeds and relative paths; what is compared,
and what is left out, stands in compare.py. Ends with 1 if anything differs. Not collected by pytest.
"""

import argparse
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.same_rows.compare import Compared, compare_folders
from tests.same_rows.inputs import write_inputs
from tests.same_rows.runs import ALL_RUNS, OLD_FOLDERS, STOPPED, Stopped

HERE = Path(__file__).resolve().parents[2]
BEFORE_THE_MOVE = "678b6a2"
OPENED = """
import sys, polars as pl, evenhand as eh
for folder in sys.argv[1:]:
    run = eh.open_run(folder)
    assert run.measurements.equals(pl.read_parquet(f"{folder}/measurements.parquet")), folder
    assert run.findings.equals(pl.read_parquet(f"{folder}/findings.parquet")), folder
    assert run.report(f"{folder}-opened.html").stat().st_size > 10000, folder
    print(folder, run.measurements.height, run.findings.height)
"""


OF_THE_PROCESS = {
    "generation": "how much the last process wrote: nothing, where all was there",
    "given": "the options of the last command",
    "arguments_given": "the options of the last command",
    "judged_before": "grows with every judging anew",
    "texts": "how many the last process judged",
}
"""Fields beside VOLATILE that say what the last process did and not what was found."""
BATCHES = 1e-4
"""A run that was killed asks the rest in other batches, and sums of 32-bit numbers depend on the batch a little;
so may a count of how often one number is above another. Only the two commits' going on is held to be equal."""
NEVER_KILLED = ("quick/", "before-after/", "check/", "revise/")
"""Runs that are killed under the same name under which others run whole."""


class Side:
    """One commit's sources, the folder in which it runs, and the process whose forks run there."""

    def __init__(self, source: Path, folder: Path):
        self.source, self.folder = source, folder
        environment = {
            **os.environ,
            "PYTHONPATH": str(source / "src"),
            "EVENHAND_DATA": str(folder / "data"),
            "EVENHAND_CACHE": str(folder / "cache"),
            "HF_HUB_OFFLINE": "1",
            "HF_HUB_VERBOSITY": "error",
            "OMP_NUM_THREADS": "1",
            "COLUMNS": "200",
        }
        self._log = folder.with_suffix(".log")
        self._runner = subprocess.Popen(
            [sys.executable, "-P", str(Path(__file__).with_name("runner.py"))],
            cwd=folder, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        self._answer("ready")

    def end(self) -> None:
        """End the process; a side can be ended more than once."""
        self._runner.communicate()

    def run(self, *arguments: str) -> str:
        """An evenhand command, or "-c" and Python, to its end. Returns what it printed; raises if it fails."""
        began = time.monotonic()
        self._begin(arguments)
        code, out = self._answer("code"), self._log.read_text(encoding="utf-8")
        shown = " ".join("CODE" if "\n" in argument else argument for argument in arguments)
        if code:
            raise RuntimeError(f"{self.source}: {shown} ended with {code} in {self.folder}:\n{out[-4000:]}")
        print(f"  {time.monotonic() - began:5.1f} s  {self.folder.name}: {shown}", flush=True)
        return out

    def kill_midway(self, stopped: Stopped) -> None:
        """Begin a run, and kill it without a word as soon as so many files are there."""
        process = self._begin(stopped.begun)
        with ThreadPoolExecutor(1) as pool:
            ended = pool.submit(self._answer, "code")
            while not ended.done() and len(list(self.folder.glob(stopped.pattern))) < stopped.files:
                time.sleep(0.002)
            if not ended.done():
                os.kill(process, signal.SIGKILL)
            code = ended.result()
        shown = " ".join(stopped.begun)
        if code == 0:
            print(f"  note: finished before it could be killed: {shown}", flush=True)
        elif code != -signal.SIGKILL:
            raise RuntimeError(f"{shown} ended with {code}:\n{self._log.read_text(encoding='utf-8')[-4000:]}")
        else:
            print(f"  killed  {self.folder.name}: {shown}", flush=True)

    def _begin(self, arguments: tuple[str, ...]) -> int:
        assert self._runner.stdin
        self._runner.stdin.write(json.dumps({"arguments": arguments, "log": str(self._log)}) + "\n")
        self._runner.stdin.flush()
        return self._answer("pid")

    def _answer(self, what: str) -> int:
        assert self._runner.stdout
        line = self._runner.stdout.readline()
        if not line:
            raise RuntimeError(f"The process that runs {self.source} has ended")
        return int(json.loads(line)[what])


def sources(base: str, work: Path) -> Path:
    """A folder with the sources of a commit, or the folder itself."""
    if (Path(base) / "src" / "evenhand").is_dir():
        return Path(base).resolve()
    packed = subprocess.run(["git", "-C", str(HERE), "archive", base], capture_output=True, check=False)
    if packed.returncode:
        sys.exit(f"{base} is neither a checkout nor a commit: {packed.stderr.decode()}")
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
        archive.extractall(work / "sources", filter="data")
    return work / "sources"


def side(source: Path, folder: Path, copied: Path) -> Side:
    """A side that begins with a copy of a folder, and certainly runs these sources."""
    shutil.copytree(copied, folder)
    made = Side(source, folder)
    found = Path(made.run("-c", "import evenhand\nprint(evenhand.__file__)").strip())
    if not found.resolve().is_relative_to(source.resolve()):
        raise RuntimeError(f"evenhand is loaded from {found}, not from {source}")
    return made


def compare(
    title: str,
    left: Path,
    right: Path,
    volatile: Collection[str] = (),
    *,
    tolerance: float = 0.0,
    names: tuple[str, ...] = (),
    without: Collection[str] = (),
) -> list[Compared]:
    """Print a line for each table and file, or for the tables whose path begins with one of the names."""
    print(f"\n{title}", flush=True)
    found = [
        one
        for one in compare_folders(
            left, right, tolerance=tolerance, volatile=frozenset(volatile), without=frozenset(without)
        )
        if not one.name.startswith(("inputs/", "data/", "cache/"))
        and (not names or (one.name.startswith(names) and one.name.endswith(".parquet")))
    ]
    for one in found:
        print(one.line, flush=True)
    return found


def run_all(made: Side, commands: Sequence[tuple[str, ...]]) -> None:
    """One command after the other."""
    for command in commands:
        made.run(*command)


def make(base: str, now: Path, work: Path) -> None:
    """All runs, in folders `before`, `now`, `killed`, `resumed-before`, `resumed-now` and `again` of `work`."""
    before = sources(base, work)
    write_inputs(work / "start" / "inputs")

    with ThreadPoolExecutor(2) as pool:
        print(f"The same runs by {before} and {now}", flush=True)
        pairs = ((before, work / "before"), (now, work / "now"))
        both = list(pool.map(lambda pair: side(*pair, work / "start"), pairs))
        list(pool.map(lambda made: run_all(made, ALL_RUNS), both))

        print("\nBegun by the earlier commit, killed, gone on with by both", flush=True)
        killed = side(before, work / "killed", work / "start")
        for stopped in STOPPED:
            killed.kill_midway(stopped)
        pairs = ((before, work / "resumed-before"), (now, work / "resumed-now"))
        resumed = list(pool.map(lambda pair: side(*pair, killed.folder), pairs))
        list(pool.map(lambda made: run_all(made, [stopped.resumed for stopped in STOPPED]), resumed))

    print("\nWhole folders of the earlier commit, opened and gone on with by the present one", flush=True)
    again = side(now, work / "again", work / "before")
    runs = ("quick", "regard", "steered", "masked", "encoder-decoder", "own", "rescored")
    print(again.run("-c", OPENED, *runs))
    run_all(again, OLD_FOLDERS)
    again.run("compare", "../before/regard", "../now/regard", "-o", "../old-and-new")
    for made in (*both, killed, *resumed, again):
        made.end()


def compare_all(
    work: Path, tolerance: float = 0.0, without: Collection[str] = (), added: Collection[str] = ()
) -> int:
    """Compare what `make` made; the number of tables and files that differ.

    tolerance: by how much numbers may differ. without: measures that were changed on purpose. added: JSON fields that
    are new.
    """
    options = {"tolerance": tolerance, "without": without}
    first, second = work / "resumed-before", work / "resumed-now"
    again = (*OF_THE_PROCESS, *added)
    found = [
        *compare(
            "Row for row: the same runs, before and now", work / "before", work / "now", added, **options
        ),
        *compare("Row for row: killed before, gone on with before and now", first, second, added, **options),
        *compare(
            "Row for row: made before, and gone on with now",
            work / "before",
            work / "again",
            again,
            **options,
        ),
    ]
    near = compare(
        f"Tables killed before and gone on with now, and never killed (numbers within {BATCHES:g}; not counted)",
        work / "now",
        work / "resumed-now",
        tolerance=BATCHES,
        names=NEVER_KILLED,
    )
    different = [one for one in found if one.difference]
    tables = sum(one.name.endswith(".parquet") for one in found)
    print(f"\n{tables} tables and {len(found) - tables} files compared, {len(different)} differ")
    for one in different:
        print(one.line)
    print(f"Never killed: {sum(bool(one.difference) for one in near)} of {len(near)} tables further off")
    return len(different)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        prog="python -m tests.same_rows",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--base", default=BEFORE_THE_MOVE, help="a commit of this repository, or a checkout's folder"
    )
    parser.add_argument(
        "--now", type=Path, default=HERE, help="the checkout to hold against it; default: this one"
    )
    parser.add_argument(
        "--work", type=Path, help="an empty or new folder for everything; default: a temporary one"
    )
    parser.add_argument("--keep", action="store_true", help="keep the temporary folder")
    parser.add_argument("--only-compare", action="store_true", help="compare what lies in --work once more")
    parser.add_argument(
        "--tolerance", type=float, default=0.0, help="by how much numbers may differ; 0: not at all"
    )
    parser.add_argument(
        "--without", action="append", default=[], help="a measure that was changed on purpose"
    )
    parser.add_argument("--added", action="append", default=[], help="a JSON field that is new")
    given = parser.parse_args()
    allowed = (given.tolerance, given.without, given.added)
    if given.only_compare:
        sys.exit(compare_all(given.work.resolve(), *allowed) > 0)
    if given.work and given.work.exists() and any(given.work.iterdir()):
        sys.exit(f"{given.work} is not empty")
    place = given.work or Path(tempfile.mkdtemp(prefix="same-rows-"))
    place.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    try:
        make(given.base, given.now.resolve(), place.resolve())
        differences = compare_all(place.resolve(), *allowed)
        print(f"{time.monotonic() - began:.0f} s")
        sys.exit(differences > 0)
    finally:
        if not given.keep and not given.work:
            shutil.rmtree(place, ignore_errors=True)
