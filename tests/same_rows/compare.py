"""Are two folders of results the same, table by table and row for row? Used by tests/same_rows."""

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

VOLATILE = {
    "created": "a date", "pid": "of the process", "timings": "seconds",
    "sessions": "dates, versions, pids and times of every process that worked on a run",
    "seconds": "seconds", "seconds_to_first_token": "seconds", "seconds_per_step": "seconds",
    "tokens_per_second": "seconds", "cost": "seconds and memory", "peak_memory_bytes": "of the process",
}  # fmt: skip
"""Fields of JSON files that two runs of one commit do not share, and why."""
OF_THE_TREE = re.compile(r"\bsrc/evenhand/[\w/.]+")
"""Cards name source files, which may move; nothing else of a card may change."""
NOT_RESULTS = {".html", ".lock", ""}
"""Pages repeat the tables' numbers in a layout of their own; locks are empty."""
KEYS = ("request_id", "text_id", "sample")


@dataclass(frozen=True)
class Compared:
    """What came of one file, or of the numbered parts of one growing table."""

    name: str
    size: str
    difference: str | None
    largest: float = 0.0
    """Largest absolute difference of numbers; infinite where more than numbers differs."""

    @property
    def line(self) -> str:
        """One line for a reader."""
        return f"{'differs' if self.difference else 'equal  '}  {self.name}  ({self.size})" + (
            f": {self.difference}" if self.difference else ""
        )


def compare_folders(
    left: Path,
    right: Path,
    *,
    tolerance: float = 0.0,
    volatile: frozenset[str] = frozenset(),
    without: frozenset[str] = frozenset(),
) -> Iterator[Compared]:
    """One result for every table and JSON file below either folder.

    left, right: folders. tolerance: by how much numbers may differ absolutely, 0 for exact equality.
    volatile: further JSON fields to leave out, beside VOLATILE. without: measures whose rows are left out.
    """
    names = sorted(_results(left) | _results(right))
    for name in names:
        here, there = _files(left, name), _files(right, name)
        if not here or not there:
            yield Compared(name, "-", f"is only in {right if there else left}", math.inf)
        elif name.endswith(".json"):
            facts = tuple(
                _but(_parsed(file, folder), without) for file, folder in ((here[0], left), (there[0], right))
            )
            places = list(_different(*facts, "", volatile | VOLATILE.keys()))
            yield _told(name, f"{_leaves(facts[0])} values", places, tolerance)
        elif name.endswith(".parquet"):
            tables = (_but_rows(_table(files), without) for files in (here, there))
            yield compare_tables(name, *tables, tolerance)
        else:
            same = here[0].read_bytes() == there[0].read_bytes()
            yield Compared(name, f"{here[0].stat().st_size} bytes", None if same else "other bytes", math.inf)


def _results(folder: Path) -> set[str]:
    """Relative paths; the numbered parts of a growing table are one."""
    found = (path for path in folder.rglob("*") if path.is_file() and path.suffix not in NOT_RESULTS)
    return {
        re.sub(r"part-\d+\.parquet$", "part-*.parquet", path.relative_to(folder).as_posix()) for path in found
    }


def _files(folder: Path, name: str) -> list[Path]:
    return sorted(folder.glob(name)) if "*" in name else [path for path in [folder / name] if path.is_file()]


def _table(files: list[Path]) -> pl.DataFrame:
    """How rows fall into numbered parts depends on the time a part took: those are sorted, others stay as they are."""
    whole = pl.concat(pl.read_parquet(file) for file in files)
    keys = [name for name in KEYS if name in whole.columns]
    if not files[0].name.startswith("part-") or not keys:
        return whole
    return whole.unique(subset=keys, keep="last", maintain_order=True).sort(keys)


def compare_tables(name: str, left: pl.DataFrame, right: pl.DataFrame, tolerance: float = 0.0) -> Compared:
    """Columns, their order and types, rows and their order, every value."""
    size = f"{left.height} rows"
    if left.schema != right.schema or left.columns != right.columns:
        one, other = ({f"{key}: {kind}" for key, kind in frame.schema.items()} for frame in (left, right))
        told = ", ".join(sorted(one ^ other)) or "their order"
        return Compared(name, size, f"other columns: {told}", math.inf)
    if left.equals(right):
        return Compared(name, size, None)
    if left.height != right.height:
        return Compared(name, size, f"{left.height} rows, {right.height} rows", math.inf)
    differences = [
        (row, column, one, other)
        for column in left.columns
        if not left[column].equals(right[column])
        for row, (one, other) in enumerate(zip(left[column].to_list(), right[column].to_list(), strict=True))
        if not _same(one, other)
    ]
    return _told(
        name,
        size,
        [(f"row {r}, {c}", a, b) for r, c, a, b in sorted(differences, key=lambda d: d[0])],
        tolerance,
    )


def _parsed(path: Path, folder: Path) -> Any:
    """A JSON file; paths below `folder` and the folders beside it are the same wherever these stand."""
    text = path.read_text(encoding="utf-8")
    return json.loads(re.sub(re.escape(f"{folder.resolve().parent}/") + r'[^/"]+/', "(folder)/", text))


def _but(value: Any, without: frozenset[str]) -> Any:
    """JSON without the entries of some measures."""
    if isinstance(value, dict):
        return {key: _but(part, without) for key, part in value.items()}
    if isinstance(value, list):
        return [
            _but(one, without)
            for one in value
            if not (isinstance(one, dict) and one.get("measure") in without)
        ]
    return value


def _but_rows(table: pl.DataFrame, without: frozenset[str]) -> pl.DataFrame:
    return table.filter(~pl.col("measure").is_in(list(without))) if "measure" in table.columns else table


def _leaves(value: Any) -> int:
    if isinstance(value, dict | list):
        return sum(map(_leaves, value.values() if isinstance(value, dict) else value))
    return 1


def _different(one: Any, other: Any, where: str, volatile: frozenset[str]) -> Iterator[tuple[str, Any, Any]]:
    """Every place where two parsed files differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in [*one, *(key for key in other if key not in one)]:
            if key not in volatile:
                yield from _different(
                    one.get(key, "(absent)"), other.get(key, "(absent)"), f"{where}.{key}", volatile
                )
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for number, (a, b) in enumerate(zip(one, other, strict=True)):
            yield from _different(a, b, f"{where}[{number}]", volatile)
    elif isinstance(one, str) and isinstance(other, str):
        if OF_THE_TREE.sub("(file)", one) != OF_THE_TREE.sub("(file)", other):
            yield where, one, other
    elif not _same(one, other):
        yield where, one, other


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return one == other or (math.isnan(one) and math.isnan(other))
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return type(one) is type(other) and bool(one == other)


def _told(name: str, size: str, places: list[tuple[str, Any, Any]], tolerance: float) -> Compared:
    if not places:
        return Compared(name, size, None)
    largest = max(_distance(one, other) for _, one, other in places)
    if 0 < largest <= tolerance:
        return Compared(name, f"{size}, numbers within {largest:.1e}", None, largest)
    where, one, other = places[0]
    by = f"; largest difference {largest:.3e}" if largest < math.inf else ""
    return Compared(
        name, size, f"{len(places)} places, first {where}: {_short(one)} and {_short(other)}{by}", largest
    )


def _distance(one: Any, other: Any) -> float:
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return max(map(_distance, one, other), default=0.0)
    if _same(one, other):
        return 0.0
    number = type(one) if type(one) in (int, float) and type(one) is type(other) else None
    if number:
        gap = abs(one - other)
        return gap if gap == gap else math.inf
    return math.inf


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
