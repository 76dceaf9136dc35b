"""`evenhand study names`: what it is given, and what is said where that is wrong."""

from pathlib import Path

import pytest

from evenhand.cli.app import main


def told(
    arguments: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> tuple[int, str]:
    monkeypatch.setattr("sys.argv", ["evenhand", "study", "names", *arguments])
    with pytest.raises(SystemExit) as stop:
        main()
    out = capsys.readouterr()
    return int(stop.value.code or 0), out.out + out.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["m", "--row", "scrambled"], "`--row` expects LABEL=FOLDER, got 'scrambled'"),
        (["m", "--row", "a=x", "--row", "a=y"], "`--row` was given twice for 'a'"),
        (["m", "--row", "original=x"], "the label 'original' is already used"),
        (["m", "--decoding", "beam"], "unknown value 'beam'; expected one of published, greedy, sampling"),
        (["m", "--names", "tune"], "names"),
        (["m", "--classifier", "gender"], "`--classifier` expects ROLE=NAME"),
    ],
)
def test_what_is_wrong_is_said(
    arguments: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    code, said = told(arguments, capsys, monkeypatch)
    assert code == 2 and message in " ".join(said.split())
    assert not list(tmp_path.iterdir())


def test_help_names_its_options(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    code, said = told(["--help"], capsys, monkeypatch)
    assert code == 0 and all(flag in said for flag in ("--row", "--decoding", "--names", "--limit"))
