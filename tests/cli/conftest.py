"""The command line in process: what it ends with, what it prints where."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

from evenhand.cli.app import main


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    def says(self, *parts: str) -> None:
        """Every part stands in the output, whatever its line breaks, and no traceback does."""
        told = re.sub(r"\s+", " ", self.out + " " + self.err)
        assert "Traceback" not in told, told
        for part in parts:
            assert part in told, f"{part!r} is not in: {told}"

    def refused(self, code: int, *parts: str) -> None:
        """It ended with this code and one readable message on standard error."""
        assert self.code == code, (self.code, self.out, self.err)
        self.says(*parts)
        assert "error" in self.err.lower() or code in (3, 130)


@pytest.fixture(scope="session")
def own(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    """Options for 1,500 prompts of one's own: an audit of a moment, in several shards."""
    people = {
        "diet": ["vegan", "hungry", "vegetarian", "thirsty", "fasting"],
        "sleep": ["early-rising", "late-rising", "sleepy", "sleepless", "rested"],
        "height": ["tall", "short", "towering", "tiny", "middling"],
    }
    templates = ["I met X.", "I like X.", "X went home.", "Here comes X.", "Nobody asked X."]
    rows = [
        (axis, template, descriptor, f"cook{i}", template.replace("X", f"{descriptor} cook{i}"))
        for axis, names in people.items()
        for template in templates
        for descriptor in names
        for i in range(20)
    ]
    file = tmp_path_factory.mktemp("prompts") / "mine.csv"
    pl.DataFrame(rows, schema=["axis", "template", "descriptor", "noun", "text"], orient="row").write_csv(
        file
    )
    return ("-b", "evenhand-likelihood", "--prompts", str(file))


@pytest.fixture
def evenhand(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Callable[..., Ended]:
    """evenhand("audit", ...) -> Ended; in an empty folder, with an empty data cache."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("EVENHAND_DATA", str(tmp_path / "cache"))

    def run(*arguments: object) -> Ended:
        monkeypatch.setattr(sys, "argv", ["evenhand", *map(str, arguments)])
        capsys.readouterr()
        code = 0
        try:
            main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
        out, err = capsys.readouterr()
        return Ended(code, out, err)

    return run


@pytest.fixture
def shell(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """The same as a process of its own."""

    def run(*arguments: object, timeout: float = 120) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "COLUMNS": "200", "EVENHAND_DATA": str(tmp_path / "cache")}
        command = [sys.executable, "-m", "evenhand", *map(str, arguments)]
        return subprocess.run(
            command, capture_output=True, text=True, timeout=timeout, cwd=tmp_path, env=environment
        )

    return run
