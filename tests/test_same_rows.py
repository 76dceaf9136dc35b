"""The comparison of rows across commits (tests/same_rows, run by hand) notices the smallest change of any kind."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from evenhand.benchmarks.registry import benchmark_names
from tests.compatibility.flags import all_commands
from tests.same_rows.compare import compare_folders
from tests.same_rows.runs import ALL_RUNS, WITHOUT_ROWS

ROWS = pl.DataFrame(
    {
        "measure": ["rate", "rate", "share"],
        "estimate": [15.0, float("nan"), 0.1],
        "low": [None, 1.0, 2.0],
        "negative": [True, False, None],
        "scores": [[0.1, 0.9], [0.5, 0.5], None],
    }
)
PARTS = pl.DataFrame({"request_id": ["a", "b", "c"], "sample": [0, 0, 0], "text": [" one", " two", " three"]})
FACTS = {
    "created": "today",
    "groups": [{"rate": 0.1 + 0.2, "n": 3, "low": float("nan")}],
    "card": "Is a card.",
}


def written(folder: Path, parts: tuple[int, ...] = (2, 1), **facts: Any) -> Path:
    """A folder of results, its growing table in parts of so many rows."""
    (folder / "responses").mkdir(parents=True)
    ROWS.write_parquet(folder / "measurements.parquet")
    start = 0
    for number, size in enumerate(parts, 1):
        PARTS[start : start + size].write_parquet(folder / "responses" / f"part-{number:06d}.parquet")
        start += size
    paths = {
        "prompts": str(folder.resolve() / "own.csv"),
        "source": f"src/evenhand/{folder.name}/own.toml, 2026",
    }
    (folder / "facts.json").write_text(json.dumps({**FACTS, **paths, **facts}))
    (folder / "report.html").write_text(str(folder))
    return folder


def changed(name: str, change: Callable[[pl.DataFrame], pl.DataFrame]) -> Callable[[Path], None]:
    """A change of one table."""

    def damage(folder: Path) -> None:
        change(pl.read_parquet(folder / name)).write_parquet(folder / name)

    return damage


def at(row: int, column: str, value: pl.Expr) -> pl.Expr:
    """The column with another value in one row."""
    here = pl.int_range(pl.len()) == row
    return pl.when(here).then(value).otherwise(pl.col(column)).alias(column)


TABLE, PART = "measurements.parquet", "responses/part-000001.parquet"


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (changed(TABLE, lambda d: d.with_columns(at(0, "estimate", pl.lit(15.0 + 2e-15)))), "row 0, estimate: 15.0"),
        (changed(TABLE, lambda d: d.with_columns(at(1, "estimate", pl.lit(None)))), "row 1, estimate: nan and None"),
        (changed(TABLE, lambda d: d.with_columns(at(0, "low", pl.lit(0.0)))), "row 0, low: None and 0.0"),
        (changed(TABLE, lambda d: d.with_columns(at(2, "negative", pl.lit(False)))), "negative: None and False"),
        (changed(TABLE, lambda d: d.with_columns(at(1, "scores", pl.lit([0.5, 0.6])))), "row 1, scores"),
        (changed(TABLE, lambda d: d[[1, 0, 2]]), "row 0, "),
        (changed(TABLE, lambda d: d.with_columns(pl.col("low").cast(pl.Float32))), "other columns: low: Float32"),
        (changed(TABLE, lambda d: d.select(reversed(d.columns))), "other columns: their order"),
        (changed(PART, lambda d: d[1:]), "3 rows, 2 rows"),
        (changed(PART, lambda d: d.with_columns(at(1, "text", pl.lit(" Two")))), "row 1, text: ' two' and ' Two'"),
        (lambda folder: (folder / TABLE).unlink(), "is only in"),
    ],
)  # fmt: skip
def test_any_change_is_noticed_and_placed(tmp_path: Path, damage: Callable[[Path], None], told: str) -> None:
    left, right = written(tmp_path / "left"), written(tmp_path / "right")
    damage(right)
    (different,) = (one for one in compare_folders(left, right) if one.difference)
    assert told in different.difference


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        (
            {"groups": [{"rate": 0.3, "n": 3, "low": float("nan")}]},
            ".groups[0].rate: 0.30000000000000004 and 0.3;",
        ),
        ({"groups": [{"rate": 0.1 + 0.2, "n": 3.0, "low": float("nan")}]}, ".groups[0].n: 3 and 3.0"),
        ({"groups": []}, ".groups: "),
        ({"more": None}, ".more: '(absent)' and None"),
        ({"card": "Is another card."}, ".card: 'Is a card.' and"),
    ],
)
def test_any_change_of_a_json_file_is_noticed(tmp_path: Path, facts: dict[str, Any], told: str) -> None:
    left, right = written(tmp_path / "left"), written(tmp_path / "right", **facts)
    (different,) = (one for one in compare_folders(left, right) if one.difference)
    assert different.name == "facts.json" and told in different.difference


def test_dates_the_cut_into_parts_and_pages_are_no_difference(tmp_path: Path) -> None:
    left, right = written(tmp_path / "left"), written(tmp_path / "right", (1, 1, 1), created="tomorrow")
    found = list(compare_folders(left, right))
    assert [one.name for one in found] == ["facts.json", "measurements.parquet", "responses/part-*.parquet"]
    assert not [one.line for one in found if one.difference]


def test_a_tolerance_is_for_numbers_alone(tmp_path: Path) -> None:
    left, right = written(tmp_path / "left"), written(tmp_path / "right")
    changed(TABLE, lambda d: d.with_columns(at(2, "estimate", pl.lit(0.1 + 1e-7))))(right)
    (near,) = (one for one in compare_folders(left, right, tolerance=1e-6) if one.largest)
    assert near.difference is None and near.largest == pytest.approx(1e-7)
    changed(TABLE, lambda d: d.with_columns(at(0, "measure", pl.lit("rates"))))(right)
    assert any(one.difference for one in compare_folders(left, right, tolerance=1e-6))


def test_every_registered_benchmark_is_run() -> None:
    run = {command[place + 1] for command in ALL_RUNS for place, word in enumerate(command) if word == "-b"}
    assert sorted(set(benchmark_names()) - run) == [], "add a run to tests/same_rows/runs.py"


def test_every_verb_is_run_or_makes_no_rows() -> None:
    verbs = {
        path.removeprefix("evenhand ") for path, command in all_commands() if not hasattr(command, "commands")
    }
    run = {verb for verb in verbs for command in ALL_RUNS if " ".join(command).startswith(f"{verb} ")}
    assert sorted(verbs - run - set(WITHOUT_ROWS)) == [], "add a run to tests/same_rows/runs.py"
    assert sorted(set(WITHOUT_ROWS) - verbs) == []
