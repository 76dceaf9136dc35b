"""Whatever is wrong with a command line: a documented exit code, one message, no traceback, nothing left behind.

The whole corpus is marked slow; each fiftieth line or so runs by default.
"""

import io
import re
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest

from evenhand.cli.app import main
from tests.robustness import bad_files
from tests.robustness.command_lines import Line, lines

PATIENCE = 60
"""Seconds after which a line hangs."""
LINES = lines()
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
FOREIGN = (
    "Traceback",
    "report above",
    "trust_remote_code=True",
    "site-packages",
    " object at 0x",
    "polars.",
    "pydantic",
)
"""What a message of ours never says: words of a library about itself, to a reader who has only a command line."""


@dataclass(frozen=True)
class Ended:
    """How a line ended."""

    code: object
    out: str
    err: str


def run(line: Line, place: Path, monkeypatch: pytest.MonkeyPatch) -> Ended:
    """Run one line in a folder, in this process."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace", write_through=True) for _ in "oe")
    with monkeypatch.context() as patch, redirect_stdout(out), redirect_stderr(err), alarm(str(line)):
        patch.chdir(place)
        for name in (
            "HTTP_PROXY",
            "HTTPS_PROXY",
            "ALL_PROXY",
            "NO_PROXY",
            "EVENHAND_API_KEY",
            "OPENAI_API_KEY",
        ):
            patch.delenv(name, raising=False)
            patch.delenv(name.lower(), raising=False)
        for name, value in {"EVENHAND_DATA": "data", "EVENHAND_CACHE": "cache", **line.environment}.items():
            patch.setenv(name, value)
        patch.setenv("COLUMNS", "200")
        patch.setattr(sys, "argv", ["evenhand", *line.words])
        code: object = 0
        try:
            main()
        except SystemExit as end:
            code = end.code
    told = [stream.buffer.getvalue().decode() for stream in (out, err)]  # type: ignore[attr-defined]
    return Ended(code, *told)


@contextmanager
def alarm(what: str) -> Iterator[None]:
    """Fail where something takes longer than PATIENCE."""

    def ring(*_: object) -> None:
        raise AssertionError(f"still at it after {PATIENCE} s: {what}")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(PATIENCE)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def complaints(ended: Ended) -> list[str]:
    """What is wrong with how a bad line ended."""
    told = ended.out + ended.err
    wrong = [f"it says {word!r}" for word in FOREIGN if word in told]
    if ended.code not in (1, 2, 3, 130):
        wrong.append(f"exit code {ended.code!r}")
    # typer draws its own errors in a box
    labels = len(re.findall(r"^error: ", ended.err, re.MULTILINE)) + ended.err.count("─ Error ")
    if labels != 1 and ended.code != 3 and "Usage:" not in ended.out:
        wrong.append(f"{labels} errors are told")
    if strange := CONTROL.search(told):
        wrong.append(f"a terminal would obey {strange.group()!a}")
    if len(ended.err) > 8000:
        wrong.append(f"{len(ended.err)} letters")
    return wrong


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with bad files, good tables, a small model and a judged run; the house's names are known."""
    from evenhand.studies.audit import audit
    from tests.helpers import judged_house

    folder = tmp_path_factory.mktemp("fuzz")
    bad_files.lay_out(folder)
    bad_files.make_model(folder / "good" / "model")
    with pytest.MonkeyPatch.context() as patch:
        judged_house.register(patch)
        audit("house/writer", benchmarks=["rudeness"], limit=12, output=folder / "runs" / "judged")
        yield folder


Try = Callable[[Line], None]


@pytest.fixture
def attempt(place: Path, monkeypatch: pytest.MonkeyPatch) -> Try:
    """Run a line; fail with what is wrong with how it ended."""

    def one(line: Line) -> None:
        try:
            ended = run(line, place, monkeypatch)
            wrong = complaints(ended)
            if line.makes and (place / line.makes).exists():
                wrong.append(f"{line.makes} was made")
        finally:
            for left in ("new", "new.csv", "new.json", "new.jsonl", "new_stages"):
                path = place / left
                shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        assert not wrong, f"{line}\n{'; '.join(wrong)}\n{ended.out[-1500:]}\n{ended.err[-3000:]}"

    return one


def test_the_corpus_is_large_and_varied() -> None:
    verbs = {line.words[0] for line in LINES if line.words}
    assert len(LINES) >= 300
    assert verbs >= {
        "audit",
        "before-after",
        "check-consistency",
        "search-instruction",
        "search-trigger",
        "measure",
        "rescore",
        "agreement",
        "compare",
        "calibrate",
        "list",
        "show",
        "data",
    }


@pytest.mark.parametrize("line", LINES[::55], ids=str)
def test_a_sample_of_bad_lines_ends_well(line: Line, attempt: Try) -> None:
    attempt(line)


@pytest.mark.slow
@pytest.mark.parametrize("line", LINES, ids=str)
def test_every_bad_line_ends_well(line: Line, attempt: Try) -> None:
    attempt(line)
