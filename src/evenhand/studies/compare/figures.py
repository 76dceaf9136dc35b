"""What a comparison shows, as data: a section for each benchmark and outcome, and the table of all models."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
from markupsafe import Markup

from evenhand.reports import (
    HIGHER,
    LOWER,
    Forest,
    SizedRate,
    Slope,
    axis_svg,
    decimals,
    forest_row,
    known,
    label,
    number,
    scale_over,
    size_svg,
    slope_svg,
)
from evenhand.studies.compare.conduct import Comparison

GROUPS_SHOWN = 20
SCORE = " score"
"""How an outcome ends that is a classifier's number and not its verdict."""


@dataclass(frozen=True)
class Unit:
    """How numbers of an outcome are shown: shares in percent, differences of them in percentage points."""

    factor: float
    name: str
    difference: str


PERCENT, RAW = Unit(100.0, "%", "percentage points"), Unit(1.0, "", "")


@dataclass(frozen=True)
class OutcomeSection:
    """One benchmark and outcome.

    aside: whether it is a classifier's number beside its verdict, and so folded. sentences: for each model compared,
    what changed over all, with its verdict. forests: by model, differences by axis. slope, sizes: drawings (None
    where there is nothing to draw). changed: groups that changed, and how many there are in all.
    """

    benchmark: str
    outcome: str
    unit: Unit
    aside: bool
    sentences: tuple[tuple[str, str, str], ...]
    forests: tuple[tuple[str, Forest], ...]
    slope: Markup | None
    sizes: Markup | None
    changed: tuple[dict[str, Any], ...]
    changed_of: tuple[int, int]


def outcomes(comparison: Comparison) -> list[OutcomeSection]:
    """A section for each benchmark and outcome that was paired, in the order of the tables."""
    keys = comparison.changes.select("benchmark", "outcome").unique(maintain_order=True).rows()
    return [_outcome(comparison, benchmark, outcome, keys) for benchmark, outcome in keys]


def unit_of(comparison: Comparison, benchmark: str, outcome: str) -> Unit:
    """Percent for verdicts and other shares; a classifier's own number, or what leaves 0 to 1, stays as it is."""
    mine = (pl.col("benchmark") == benchmark) & (pl.col("outcome") == outcome)
    rates = comparison.summary.filter(mine)["rate"].drop_nulls()
    share = bool(rates.is_between(0, 1).all()) and not outcome.endswith(SCORE)
    return PERCENT if share else RAW


def _outcome(
    comparison: Comparison, benchmark: str, outcome: str, keys: Sequence[tuple[Any, ...]]
) -> OutcomeSection:
    unit = unit_of(comparison, benchmark, outcome)
    table = comparison.changes.filter((pl.col("benchmark") == benchmark) & (pl.col("outcome") == outcome))
    wholes = table.filter(pl.col("group").is_null())
    groups = table.filter(pl.col("group").is_not_null())
    changed = groups.filter(pl.col("verdict").is_in([LOWER, HIGHER]))
    ordered = changed.sort(pl.col("estimate").abs(), "group", descending=[True, False]).to_dicts()
    return OutcomeSection(
        benchmark=benchmark,
        outcome=outcome,
        unit=unit,
        aside=outcome.endswith(SCORE) and (benchmark, outcome.removesuffix(SCORE)) in keys,
        sentences=tuple(
            _sentence(row, unit)
            for row in wholes.filter(pl.col("axis").is_null()).unique("model", maintain_order=True).to_dicts()
        ),
        forests=tuple(_forests(wholes, unit)),
        slope=_slope(comparison, wholes, unit, f"{benchmark}, {label(outcome)}"),
        sizes=_sizes(comparison, benchmark, outcome, unit),
        changed=tuple(_scaled(row, unit) for row in ordered[:GROUPS_SHOWN]),
        changed_of=(changed.height, groups.height),
    )


def _scaled(row: Mapping[str, Any], unit: Unit) -> dict[str, Any]:
    numbers = ("before", "after", "estimate", "low", "high", "minimum_detectable")
    return {**row, **{name: None if row[name] is None else unit.factor * row[name] for name in numbers}}


def _sentence(row: Mapping[str, Any], unit: Unit) -> tuple[str, str, str]:
    """(model, what changed, verdict)."""
    shown = _scaled(row, unit)
    places = decimals([shown["before"], shown["after"]])
    before, after, by = (number(shown[name], places) for name in ("before", "after", "estimate"))
    sign = "+" if known(shown["estimate"]) and shown["estimate"] > 0 else ""
    between = (
        f"{number(shown['low'], places)} to {number(shown['high'], places)}"
        if known(shown["low"])
        else "no interval"
    )
    suffix = f" {unit.name}" if unit.name else ""
    return row["model"], f"{before} → {after}{suffix} ({sign}{by}, 95 % interval {between})", row["verdict"]


def _forests(wholes: pl.DataFrame, unit: Unit) -> list[tuple[str, Forest]]:
    rows = [_scaled(row, unit) for row in wholes.to_dicts()]
    scale = scale_over([row[c] for row in rows for c in ("estimate", "low", "high")], include=[0.0])
    places = decimals([row[c] for row in rows for c in ("before", "after")])
    forests = []
    for model in dict.fromkeys(row["model"] for row in rows):
        mine = sorted((row for row in rows if row["model"] == model), key=lambda row: row["axis"] is None)
        drawn = tuple(
            forest_row(
                {**row, "null": 0.0, "note": _smallest(row, unit)},
                label(row["axis"]),
                scale,
                places,
                overall=row["axis"] is None,
                cells=(number(row["before"], places), number(row["after"], places)),
            )
            for row in mine
        )
        heads = (f"before {unit.name}".strip(), f"after {unit.name}".strip())
        forests.append((model, Forest(drawn, axis_svg(scale), unit=unit.difference, null=True, heads=heads)))
    return forests


def _smallest(row: Mapping[str, Any], unit: Unit) -> str:
    if not known(row["minimum_detectable"]):
        return ""
    smallest = f"{number(row['minimum_detectable'], 2)} {unit.difference}".strip()
    return f"A change of {smallest} would probably have been seen."


def _slope(comparison: Comparison, wholes: pl.DataFrame, unit: Unit, described: str) -> Markup | None:
    lines = []
    for (axis,), part in wholes.group_by("axis", maintain_order=True):
        by_model = {row["model"]: _scaled(row, unit) for row in reversed(part.to_dicts())}
        last = by_model.get(comparison.names[-1])
        first = next(iter(by_model.values()))["before"]
        values = [
            first,
            *(by_model[name]["after"] if name in by_model else None for name in comparison.names[1:]),
        ]
        kind = last["verdict"] if last is not None else ""
        lines.append(Slope(label(None if axis is None else str(axis)), tuple(values), kind, axis is None))
    return slope_svg(
        lines, comparison.names, described=f"{described}: each axis before and after", unit=unit.name
    )


def _sizes(comparison: Comparison, benchmark: str, outcome: str, unit: Unit) -> Markup | None:
    sizes = {model.name: model.parameters for model in comparison.models}
    points = [
        SizedRate(
            row["model"],
            float(sizes[row["model"]] or 0),
            *(None if row[c] is None else unit.factor * row[c] for c in ("rate", "low", "high")),
        )
        for row in comparison.summary.filter(
            (pl.col("benchmark") == benchmark) & (pl.col("outcome") == outcome)
        ).to_dicts()
        if sizes.get(row["model"])
    ]
    if len({point.parameters for point in points}) < 2:
        return None
    return size_svg(points, described=f"{benchmark}, {label(outcome)}, by model size", unit=unit.name)


@dataclass(frozen=True)
class Cell:
    """One model on one benchmark, as text."""

    rate: str
    interval: str
    corrected: str
    published: str
    group: str


def table_of_models(
    comparison: Comparison,
) -> tuple[list[tuple[str, str, str]], list[tuple[str, list[Cell]]]]:
    """Columns (benchmark, outcome, unit) and a row of cells for each model, as in ROBBIE's tables 3, 6 and 9."""
    keys = comparison.summary.select("benchmark", "outcome").unique(maintain_order=True).rows()
    keys = [
        key for key in keys if not (key[1].endswith(SCORE) and (key[0], key[1].removesuffix(SCORE)) in keys)
    ]
    columns = [(benchmark, outcome, unit_of(comparison, benchmark, outcome)) for benchmark, outcome in keys]
    known_rows = {
        (row["model"], row["benchmark"], row["outcome"]): row for row in comparison.summary.to_dicts()
    }
    harmed = {model.name: model.most_harmed for model in comparison.models}
    rows = []
    for model in comparison.names:
        cells = []
        for benchmark, outcome, unit in columns:
            row = known_rows.get((model, benchmark, outcome))
            cells.append(_cell(row, unit, harmed[model].get(benchmark)))
        rows.append((model, cells))
    return [(benchmark, label(outcome), unit.name) for benchmark, outcome, unit in columns], rows


def _cell(row: Mapping[str, Any] | None, unit: Unit, harmed: tuple[str, float] | None) -> Cell:
    if row is None:
        return Cell("", "", "", "", "")
    rate, low, high = (None if row[c] is None else unit.factor * row[c] for c in ("rate", "low", "high"))
    places = decimals([rate])
    if harmed is None and row["largest_group"] is not None:
        harmed = (row["largest_group"], unit.factor * row["largest_rate"])
    return Cell(
        rate=number(rate, places),
        interval=f"{number(low, places)} to {number(high, places)}" if known(low) else "",
        corrected=number(row["bias_score"], 1) if known(row["bias_score"]) else "",
        published=number(row["bias_score_published"], 1) if known(row["bias_score_published"]) else "",
        group="" if harmed is None else f"{label(harmed[0])} {number(harmed[1], decimals([harmed[1]]))}",
    )
