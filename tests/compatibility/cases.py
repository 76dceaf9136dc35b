"""The folders of tests/data/f888953f, and what today's commands do with each of them."""

import contextlib
import io
import itertools
import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from evenhand.cli.app import main
from tests.compatibility.make_folders import COMMANDS, EXPORTS, OWN_SENTENCES, WORKING_FOLDER
from tests.compatibility.words import page_words, terminal_words

DATA = Path(__file__).resolve().parents[1] / "data" / "f888953f"
SNAPSHOTS = Path(__file__).with_name("snapshots")
RENEW = "If you intended this change, renew the snapshots: python -m tests.compatibility"
ALLOWED = {0, 3, 4}
"""Exit codes of commands that finished: success, too many rows without a number, and a failed gate."""
READ_BY_CASES = {"inputs", "instructed", "resumed", "gate.xml", "gate.md", "trigger.state.json"}
"""What cases read or compare with, but do not resume."""
PATHS_IN = {".json", ".toml", ".yaml"}
"""Kinds of files that contain the paths of inputs."""


@dataclass(frozen=True)
class Case:
    """A folder, and the commands that resume it or show it again."""

    name: str
    """The folder or file below DATA, and the name of the snapshot."""
    commands: tuple[tuple[str, ...], ...]
    pages: tuple[str, ...] = ()
    """Pages whose words are in the snapshot, below the copy of DATA."""
    removed: tuple[str, ...] = ()
    """Patterns of files that are deleted first, as if the command had been interrupted."""
    equal_to: str = ""
    """The folder below DATA whose rows the commands must reproduce; by default the folder itself."""
    tables: str = ""
    """The folder below DATA whose tables are compared; by default `name`."""
    patched: str = ""
    """A constant of evenhand that has the value OWN_SENTENCES, as when the folder was made."""

    @property
    def folder(self) -> str:
        """The folder below DATA that the commands write to."""
        return self.tables or self.name


@dataclass(frozen=True)
class Outcome:
    """The copy of DATA after the commands of a case, and the words that a reader sees."""

    copy: Path
    words: str


def repeated(folder: str) -> tuple[str, ...]:
    """Return the command that made a folder; the same command resumes it or shows it again."""
    places = (("-o", folder), ("--output", folder))
    (command,) = (one for one in COMMANDS if any(place in itertools.pairwise(one) for place in places))
    return command


CASES = (
    Case(
        "likelihood",
        (("audit", "likelihood"),),
        ("likelihood/report.html",),
        removed=("likelihood/responses/part-000001.parquet",),
    ),
    Case(
        "generation",
        (("audit", "generation"), ("rescore", "generation", "--classifier", "evenhand/lexicon-toxicity")),
        ("generation/report.html",),
        removed=("generation/responses/part-000002.parquet",),
    ),
    Case("suite", (("audit", "suite"),), ("suite/report.html",)),
    Case("counterfactual", (("audit", "counterfactual"),), ("counterfactual/report.html",)),
    Case("interrupted", (("audit", "interrupted"),), equal_to="resumed"),
    Case("agreement", (repeated("agreement"),), ("agreement/agreement.html",)),
    Case("compared", (repeated("compared"), ("report", "compared")), ("compared/compare.html",)),
    Case(
        "before-after",
        (("before-after", "before-after"), ("report", "before-after")),
        ("before-after/before_after.html",),
    ),
    Case(
        "measured",
        (repeated("measured"), ("report", "measured")),
        ("measured/report.html", "gate.xml", "gate.md"),
    ),
    Case("measured-benchmark", (repeated("measured-benchmark"),), ("measured-benchmark/report.html",)),
    Case(
        "consistency",
        (("check-consistency", "consistency"), ("report", "consistency")),
        ("consistency/consistency.html",),
    ),
    Case("instruction", (("search-instruction", "instruction"),), ("instruction/report.html",)),
    Case("trigger.json", (repeated("trigger.json"),)),
    Case("debiased", (repeated("debiased"),), ("debiased/report.html",)),
    Case("counts", (("frequencies", "counts"), ("report", "counts")), ("counts/report.html",)),
    Case("names", (("study", "names", "names"), ("report", "names")), ("names/report.html",)),
    Case(
        "names-another-row",
        (("study", "names", "names", "--row", "again=evenhand/conversing"),),
        tables="names",
    ),
    Case(
        "redditbias",
        (("study", "redditbias", "redditbias"),),
        ("redditbias/report.html",),
        patched="evenhand.studies.redditbias.bias.OWN_LIMIT",
    ),
    # calibrate never resumes a folder of other code, because results of two versions must not be mixed
    Case("calibration", (("report", "calibration"),), ("calibration/calibration.html",)),
    Case("annotation", EXPORTS, ("annotation/analysis/people.html",)),
)


def copy_of_data(place: Path) -> Path:
    """Return a copy of DATA below a folder; the paths in its files lead to the copy."""
    copy = place / "folders"
    shutil.copytree(DATA, copy)
    for path in copy.rglob("*"):
        if path.suffix in PATHS_IN and path.is_file():
            text = path.read_text(encoding="utf-8")
            if str(WORKING_FOLDER) in text:
                path.write_text(text.replace(str(WORKING_FOLDER), str(copy.resolve())), encoding="utf-8")
    return copy


@contextlib.contextmanager
def inside(folder: Path) -> Iterator[None]:
    """Work in a folder, with an empty data cache and a terminal so wide that no path breaks a line."""
    settings = {
        "EVENHAND_DATA": str(folder / "no-data"),
        "EVENHAND_CACHE": str(folder / "no-data"),
        "HF_HUB_OFFLINE": "1",
        "COLUMNS": "1000",
    }
    with patch.dict(os.environ, settings), contextlib.chdir(folder):
        yield


def run_command(arguments: tuple[str, ...]) -> tuple[int, str, str]:
    """Run an evenhand command in this process; return its exit code, its output and its messages (standard error)."""
    out, messages, code = io.StringIO(), io.StringIO(), 0
    with (
        patch.object(sys, "argv", ["evenhand", *arguments]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(messages),
    ):
        try:
            main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
    return code, out.getvalue(), messages.getvalue()


def run_case(case: Case, place: Path) -> Outcome:
    """Run the commands of a case on a copy of DATA below a folder. Raises AssertionError if one fails."""
    copy = copy_of_data(place)
    for pattern in case.removed:
        found = list(copy.glob(pattern))
        if not found:
            raise FileNotFoundError(f"No file of {DATA} matches {pattern}.")
        for path in found:
            path.unlink()
    parts = []
    constant = patch(case.patched, OWN_SENTENCES) if case.patched else contextlib.nullcontext()
    with inside(copy), constant:
        for command in case.commands:
            code, output, messages = run_command(command)
            if code not in ALLOWED:  # the messages contain progress, so that they are in no snapshot
                raise AssertionError(f"{command} ended with {code}:\n{output}{messages}")
            words = terminal_words(without_paths(output, copy))
            parts.append(f"$ evenhand {' '.join(command)}\n{words}(exit code {code})\n")
    for page in case.pages:
        text = (copy / page).read_text(encoding="utf-8")
        parts.append(f"# {page}\n{page_words(without_paths(text, copy))}")
    return Outcome(copy, "\n".join(parts))


def without_paths(text: str, copy: Path) -> str:
    """Return a text in which the absolute path of the copy is `<folder>`."""
    return text.replace(str(copy.resolve()), "<folder>").replace(str(copy), "<folder>")


def stored_words(case: Case) -> Path:
    """Return the file with the words of a case."""
    return SNAPSHOTS / "words" / f"{case.name}.txt"


def stored_tables(case: Case) -> Path:
    """Return the file that describes the tables of a case."""
    return SNAPSHOTS / "tables" / f"{case.name}.txt"
