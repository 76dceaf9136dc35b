"""A study of one's own: options, resuming, command line, configuration file and Python call, from one declaration."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import polars as pl
import pytest

from evenhand.cli.study_commands import StudyCommand
from evenhand.schema import ResumeRefused, read_json, write_json
from evenhand.studies import StudyResult
from evenhand.study import Call, Count, Flag, Study, StudyOptions, StudyRecord, with_options


class TossOptions(StudyOptions):
    RECORD: ClassVar = StudyRecord("toss.json", "toss", part="options")
    coin: str
    """Name of the coin."""
    times: Annotated[Count, Flag(panel="Basics")] = 3
    """Number of tosses. Default: 3."""
    shown: Annotated[bool, Flag(resume="free", panel="Basics")] = False
    """Show each toss."""


@dataclass(frozen=True, repr=False)
class TossResult(StudyResult):
    PAGE, NUMBERS = "toss.html", "numbers.json"
    folder: Path
    heads: int

    @property
    def path(self) -> Path:
        return self.folder

    def tables(self) -> dict[str, pl.DataFrame]:
        return {"heads": pl.DataFrame({"heads": [self.heads]})}

    def to_dict(self) -> dict[str, Any]:
        return {"heads": self.heads}

    def html(self) -> str:
        return f"<p>{self.heads} heads"

    def print_to(self, console, paths=None) -> None:
        console.print(f"{self.heads} heads")


def perform(options: TossOptions, call: Call) -> TossResult:
    folder = call.output or Path("runs/toss")
    options.begin(folder)
    return TossResult(folder, options.times)


TOSS = Study("toss", "coin", "Name of the coin.", "Toss a coin.", lambda: TossOptions, lambda: perform)


@with_options(TossOptions)
def toss(coin: str, *, output: Path | None = None, **options: Any) -> TossResult:
    """Toss a coin. {options}"""
    return TOSS.run({"coin": coin, **options}, output)


def test_a_study_is_called_from_python_and_from_the_command_line_and_resumed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert toss("penny", times=2, output=tmp_path / "one").heads == 2
    assert "Number of tosses" in (toss.__doc__ or "")
    write_json(tmp_path / "options.yaml", {"times": 4})  # JSON is YAML
    for words in (["penny", "-o", "two", "-c", "options.yaml"], ["two", "--shown"]):
        StudyCommand(TOSS).main(words, standalone_mode=False)
        assert "4 heads" in capsys.readouterr().out
    stored = read_json(tmp_path / "two/toss.json", "")
    assert stored["options"] == {"coin": "penny", "times": 4, "shown": True}
    with pytest.raises(ResumeRefused, match="times: stored 2, given now 3"):
        toss("penny", output=tmp_path / "one")
