"""The example package does what a package from outside can do: one thing of each kind, found by name, in one audit."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import polars as pl
import pytest

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "examples" / "evenhand-example"
NAMES = {
    "models": "example/model",
    "classifiers": "example-classifier",
    "mitigations": "example-mitigation",
    "methods": "example-method",
    "benchmarks": "example-benchmark",
    "measures": "example_gap",
}
FILES = sorted((EXAMPLE / "evenhand_example").glob("*.py"))
AUDIT = ["audit", "example/model", "--benchmark", "example-benchmark", "--classifier", "example-classifier"]


def install(site: Path, *, without: tuple[str, ...] = ()) -> None:
    """Put the package into a folder as an installer does: its files, and its entry points beside them.

    without: entry-point groups that are left out.
    """
    shutil.copytree(EXAMPLE / "evenhand_example", site / "evenhand_example")
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    info = site / f"evenhand_example-{project['version']}.dist-info"
    info.mkdir()
    about = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    (info / "METADATA").write_text(about)
    lines = []
    for group, points in project["entry-points"].items():
        if group not in without:
            lines += [f"[{group}]", *(f"{name} = {where}" for name, where in points.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")


def evenhand(site: Path, *arguments: str, code: int = 0) -> str:
    """What `evenhand` prints in a fresh process that sees the folder."""
    # this tree's own code, whether or not it is the one that is installed
    path = os.pathsep.join([str(site), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-m", "evenhand", *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path, "COLUMNS": "200"},
        cwd=site,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    install(folder)
    return folder


def findings(run: Path) -> pl.DataFrame:
    return pl.read_parquet(run / "findings.parquet")


def test_each_is_short_and_said_in_its_first_line() -> None:
    assert len(FILES) == len(NAMES) + 1
    for path in FILES:
        text = path.read_text()
        assert len(text.splitlines()) < 60 and text.startswith('"""'), path.name


@pytest.mark.parametrize("kind", NAMES)
def test_each_is_listed(site: Path, kind: str) -> None:
    assert NAMES[kind] in evenhand(site, "list", kind)


def test_its_cards_are_shown(site: Path) -> None:
    assert "The classifier's own bias is in it." in evenhand(site, "show", "example_gap")
    assert "no listed stereotype" in evenhand(site, "show", "example-method")


def test_its_training_method_has_the_interface_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLE))
    from evenhand_example.training_method import WithoutStereotypes

    from evenhand.mitigations.training import TrainingMethod

    assert isinstance(WithoutStereotypes(), TrainingMethod)


def test_an_audit_uses_all_five(site: Path) -> None:
    evenhand(site, *AUDIT, "-o", "plain")
    evenhand(site, *AUDIT, "--mitigate", "example-mitigation?times=2", "-o", "mitigated")
    plain, mitigated = (findings(site / run) for run in ("plain", "mitigated"))
    for table in (plain, mitigated):
        assert set(table["measure"]) == {"example_gap"}
        assert table["group"].to_list() == [None, "left-handed", "right-handed", "two-handed"]
    # planted: harsh in 2/3 of what is written about left-handed people, in 1/5 of what is written about others
    verdicts = dict(plain.select("group", "verdict").rows())
    assert verdicts[None] == verdicts["left-handed"] == "biased"
    # beside a group that fares worse the others, in whose mean it is, fare better
    directions = dict(plain.select("group", "direction").rows())
    assert directions["left-handed"] == "worse" and directions["right-handed"] in ("better", None)
    [left] = plain.filter(group="left-handed").to_dicts()
    assert left["low"] < 2 / 3 - 1 / 5 < left["high"]
    assert set(mitigated["verdict"]) == {"not detected"}
    for run in ("plain", "mitigated"):  # the card of the measure stands in the report
        page = (site / run / "report.html").read_text()
        assert "How much oftener a group is written about harshly" in page and "Ten sentences written" in page


def test_options_reach_the_classifier_typed(site: Path) -> None:
    told = evenhand(site, *AUDIT[:-1], "example-classifier?least=many", "-o", "x", code=2)
    assert "must be a whole number, got 'many'" in told
    told = evenhand(site, *AUDIT[:-1], "example-classifier?leest=2", "-o", "x", code=2)
    assert "Did you mean 'least'" in told
    evenhand(site, *AUDIT[:-1], "example-classifier?least=9", "-o", "lenient")
    assert findings(site / "lenient").is_empty()  # nobody is harsh: a number without p is a description
    described = pl.read_parquet(site / "lenient" / "measurements.parquet")
    assert described["estimate"].to_list() == [0.0] * 4


def test_a_measure_without_card_is_refused_and_the_answers_are_kept(tmp_path: Path) -> None:
    install(tmp_path, without=("evenhand.measures",))
    told = evenhand(tmp_path, *AUDIT, "-o", "run", code=1)
    assert "computes the measure 'example_gap', which has no card" in told
    shutil.rmtree(next(tmp_path.glob("*.dist-info")))
    shutil.rmtree(tmp_path / "evenhand_example")
    install(tmp_path)
    assert "0 of 30 requests to process" in evenhand(tmp_path, *AUDIT, "-o", "run")
    assert findings(tmp_path / "run").height == 4


def test_a_classifier_without_card_is_refused(tmp_path: Path) -> None:
    install(tmp_path)
    module = tmp_path / "evenhand_example" / "classifier.py"
    module.write_text(module.read_text().replace("    CARD = Card(", "    NOTE = Card("))
    told = evenhand(tmp_path, *AUDIT, "-o", "run", code=1)
    assert "'example-classifier' of the package evenhand-example has no card" in told.replace("\n", " ")
    assert "Cannot be used" in evenhand(
        tmp_path, "list", "classifiers"
    )  # and the others are listed all the same


def test_a_package_that_cannot_be_imported_is_named_and_disturbs_nobody(tmp_path: Path) -> None:
    install(tmp_path)
    (tmp_path / "evenhand_example" / "benchmark.py").write_text("import no_such_library\n")
    told = evenhand(tmp_path, *AUDIT, "-o", "run", code=1).replace("\n", " ")
    assert "package evenhand-example cannot be loaded" in told and "no_such_library" in told
    assert "stereoset" in evenhand(tmp_path, "list", "benchmarks")
    assert "stereoset" in evenhand(tmp_path, "show", "stereoset")
