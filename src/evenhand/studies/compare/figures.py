"""The content of a comparison page as data: a section for each benchmark and outcome, and the table of models."""

import math
from collections.abc import Iterator, Mapping, Sequence
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
    count_places,
    decimals,
    forest_row,
    known,
    label,
    listing,
    number,
    scale_over,
    signed,
    size_svg,
    slope_svg,
)
from evenhand.studies.compare.changes import LEVEL_CHANGE
from evenhand.studies.compare.conduct import SILENT, Comparison
from evenhand.studies.compare.moved import LOG_LIKELIHOOD
from evenhand.studies.compare.rate_words import NATS, PERCENT, POINTS, RAW, Unit, scale_row, worst_first
from evenhand.studies.compare.wording import (
    SCORE,
    change_headlines,
    disparity_lines,
    level_text,
    moved_word,
    preference_lines,
)

GROUPS_SHOWN, FEW = 20, 12
ANSWERS = ("fails", "could not have been seen", "passes", "undecided")
"""Results of the test that no group is worse by more than the margin, in the order in which they are displayed."""


@dataclass(frozen=True)
class OutcomeSection:
    """Everything that the page shows for one benchmark and outcome.

    Attributes
    ----------
    aside : bool
        True if the outcome is secondary (a classifier's score, or empty responses), so the page collapses its section.
    between : mapping
        For each compared model, the change between groups, with its verdict.
    sentences : sequence of str
        Overall changes.
    forests : mapping
        Model and forest plot of its changes by axis.
    slope, sizes
        Drawings; None if they would be empty.
    changed
        Groups that changed differently from the others, with the direction (``moved``) and the number of groups.
    margins
        Sentences with the groups for each result of the non-inferiority test.
    few
        Rows of all groups, if there are few.
    moved
        Prompts or texts that changed most.
    course
        Disparity and level by the variable that orders the models.
    """

    benchmark: str
    outcome: str
    unit: Unit
    aside: bool
    between: tuple[tuple[str, str, str], ...]
    sentences: tuple[tuple[str, str, str], ...]
    forests: tuple[tuple[str, Forest], ...]
    slope: Markup | None
    sizes: Markup | None
    changed: tuple[dict[str, Any], ...]
    changed_of: tuple[int, int]
    margins: tuple[str, ...] = ()
    few: tuple[dict[str, Any], ...] = ()
    moved: tuple[dict[str, Any], ...] = ()
    course: tuple["CourseTable", ...] = ()


@dataclass(frozen=True)
class CourseTable:
    """Disparity or level by the variable that orders the models.

    Attributes
    ----------
    drawing : Markup
        A line for each axis.
    heads : sequence
        Models with their value of the variable.
    rows : sequence
        For each axis, a cell per model: the value, the change from the first with its interval, and its verdict.
    """

    measure: str
    by: str
    unit: str
    drawing: Markup | None
    heads: tuple[tuple[str, str], ...]
    rows: tuple[tuple[str, tuple[tuple[str, str, str], ...]], ...]


def outcomes(comparison: Comparison) -> list[OutcomeSection]:
    """Return a section for each benchmark and outcome that was compared, in the order of the table of changes."""
    keys = comparison.changes.select("benchmark", "outcome").unique(maintain_order=True).rows()
    return [_outcome(comparison, benchmark, outcome, keys) for benchmark, outcome in keys]


def choose_unit(comparison: Comparison, benchmark: str, outcome: str) -> Unit:
    """Return the unit in which an outcome is shown.

    It is percent for labels and other shares. Scores of a classifier, and values outside 0 to 1, keep their own unit.
    """
    mine = (pl.col("benchmark") == benchmark) & (pl.col("outcome") == outcome)
    stated = comparison.changes.filter(mine)["unit"].drop_nulls()
    if len(stated):  # likelihoods have their own unit
        return NATS if stated[0].startswith("nats") else POINTS
    rates = comparison.summary.filter(mine)["rate"].drop_nulls()
    share = bool(rates.is_between(0, 1).all()) and not outcome.endswith(SCORE)
    return PERCENT if share else RAW


def _outcome(
    comparison: Comparison, benchmark: str, outcome: str, keys: Sequence[tuple[Any, ...]]
) -> OutcomeSection:
    unit = choose_unit(comparison, benchmark, outcome)
    table = comparison.changes.filter((pl.col("benchmark") == benchmark) & (pl.col("outcome") == outcome))
    levels = table.filter(pl.col("measure") == LEVEL_CHANGE)
    groups = table.filter(pl.col("group").is_not_null())
    changed = groups.filter(pl.col("verdict").is_in([LOWER, HIGHER]))
    ordered = worst_first(changed.to_dicts())
    others = [key for key in keys if key[0] == benchmark and key[1] != SILENT]
    between = [
        (str(model[0]), line["sentence"], line["verdict"])
        for model, part in table.group_by("model", maintain_order=True)
        for line in [*disparity_lines(part.to_dicts(), unit), *preference_lines(part.to_dicts(), unit)]
    ]
    return OutcomeSection(
        benchmark=benchmark,
        outcome=outcome,
        unit=unit,
        aside=(outcome.endswith(SCORE) and (benchmark, outcome.removesuffix(SCORE)) in keys)
        or (outcome == SILENT and bool(others)),
        between=tuple(between),
        sentences=tuple(
            (row["model"], level_text(row, unit), row["verdict"])
            for row in levels.filter(pl.col("axis").is_null()).unique("model", maintain_order=True).to_dicts()
        ),
        forests=tuple(_forests(levels, unit)) if levels.height else (),
        slope=_slope(comparison, levels, unit, f"{benchmark}, {label(outcome)}"),
        sizes=_sizes(comparison, benchmark, outcome, unit),
        changed=tuple(
            scale_row(row, unit) | {"moved": moved_word(row, unit)} for row in ordered[:GROUPS_SHOWN]
        ),
        changed_of=(changed.height, groups.height),
        few=tuple(
            scale_row(row, unit) | {"moved": moved_word(row, unit)}
            for row in (_axes_together(worst_first(groups.to_dicts())) if groups.height <= FEW else [])
        ),
        margins=tuple(_margins(comparison, groups, unit)),
        moved=tuple(
            scale_row(row, _unit_of_moved(row, unit))
            for row in comparison.moved.filter(
                (pl.col("benchmark") == benchmark)
                & pl.col("outcome").is_in([outcome, *_find_text_outcomes(comparison, table)])
            ).to_dicts()
        ),
        course=tuple(_courses(comparison, benchmark, outcome, unit)),
    )


def _axes_together(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Sort rows by model and axis, in the order in which these occur first."""
    keys = [(row["model"], row["axis"]) for row in rows]
    return [row for key in dict.fromkeys(keys) for row, own in zip(rows, keys, strict=True) if own == key]


def _margins(comparison: Comparison, groups: pl.DataFrame, unit: Unit) -> list[str]:
    """Return a sentence for each model and axis on the groups that are non-inferior; none without a margin."""
    asked = groups.filter(pl.col("no_worse").is_not_null())
    if comparison.margin is None or asked.is_empty():
        return []
    size = unit.factor * comparison.margin
    wide = f"{size:g} {unit.difference}".strip()
    lines = []
    for (model, axis), part in asked.group_by("model", "axis", maintain_order=True):
        named = part.group_by("no_worse", maintain_order=True).agg("group").rows()
        named.sort(key=lambda one: ANSWERS.index(one[0]))
        told = "; ".join(f"{answer}: {listing([label(name) for name in names])}" for answer, names in named)
        of = f"{model}, " if len(comparison.names) > 2 else ""
        lines.append(
            f"{of}{label(None if axis is None else str(axis))}, no worse by more than {wide}: {told}."
        )
    return lines


def write_headlines(comparison: Comparison) -> pl.DataFrame:
    """Return CHANGE_HEADLINES of a comparison: between groups first, then overall, then the text."""
    keys = comparison.changes.select("benchmark", "outcome").unique(maintain_order=True).rows()
    told = [
        key for key in keys if not (key[1].endswith(SCORE) and (key[0], key[1].removesuffix(SCORE)) in keys)
    ]
    units = {key: choose_unit(comparison, *key) for key in told}
    mine = pl.struct("benchmark", "outcome").is_in([{"benchmark": b, "outcome": o} for b, o in told])
    return change_headlines(
        comparison.changes.filter(mine) if told else comparison.changes,
        comparison.texts,
        units,
        comparison.standing,
    )


def _forests(wholes: pl.DataFrame, unit: Unit) -> list[tuple[str, Forest]]:
    rows = [scale_row(row, unit) for row in wholes.to_dicts()]
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
    return f"Minimum detectable change (80% power): {smallest}."


def _find_text_outcomes(comparison: Comparison, table: pl.DataFrame) -> list[str]:
    """Return the outcome of scored texts if `table` is about the first outcome of its benchmark, otherwise none.

    Scored texts belong to a benchmark and not to one outcome, so this shows them once.
    """
    mine = comparison.changes.filter(pl.col("benchmark") == table["benchmark"][0])
    return [LOG_LIKELIHOOD] if table["outcome"][0] == mine["outcome"][0] else []


def _unit_of_moved(row: Mapping[str, Any], unit: Unit) -> Unit:
    return RAW if row["outcome"] == LOG_LIKELIHOOD else unit


def _courses(comparison: Comparison, benchmark: str, outcome: str, unit: Unit) -> Iterator[CourseTable]:
    order = comparison.order
    mine = comparison.course.filter((pl.col("benchmark") == benchmark) & (pl.col("outcome") == outcome))
    if order is None or mine.is_empty():
        return
    places = sorted(zip(order.at, comparison.names, strict=True))
    names = [name for _, name in places]
    along = [math.log(at) if order.logarithmic else at for at, _ in places]
    for (measure,), part in mine.group_by("measure", maintain_order=True):
        rows: list[tuple[str, tuple[tuple[str, str, str], ...]]] = []
        lines: list[Slope] = []
        found = part.with_columns(pl.col("estimate", "change", "low", "high") * unit.factor).to_dicts()
        decided = decimals([*(row["estimate"] for row in found), 10.0 if unit.name else None])
        for axis in part["axis"].unique(maintain_order=True):
            by_model = {row["model"]: row for row in found if row["axis"] == axis}
            values = tuple(by_model[name]["estimate"] if name in by_model else None for name in names)
            last = by_model.get(names[-1]) or by_model.get(names[-2], {})
            lines.append(Slope(label(axis), values, last.get("verdict") or "", axis is None))
            rows.append((label(axis), tuple(_course_cell(by_model.get(name), decided) for name in names)))
        described = f"{benchmark}, {label(outcome)}: {measure} by {order.name}"
        drawing = slope_svg(lines, names, described=described, unit=unit.name, at=along)
        heads = tuple((name, order.shown(at)) for at, name in places)
        yield CourseTable(str(measure), order.name, unit.name, drawing, heads, tuple(rows))


def _course_cell(row: Mapping[str, Any] | None, places: int) -> tuple[str, str, str]:
    if row is None:
        return "", "", ""
    between = f", {number(row['low'], places)} to {number(row['high'], places)}" if known(row["low"]) else ""
    changed = f"{signed(row['change'], places)}{between}" if known(row["change"]) else ""
    return number(row["estimate"], places), changed, row["verdict"] or ""


def _slope(comparison: Comparison, wholes: pl.DataFrame, unit: Unit, described: str) -> Markup | None:
    lines = []
    for (axis,), part in wholes.group_by("axis", maintain_order=True):
        by_model = {row["model"]: scale_row(row, unit) for row in reversed(part.to_dicts())}
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
    """One cell of the table of models: texts on one model's result for one outcome of a benchmark."""

    rate: str
    interval: str
    corrected: str
    published: str
    group: str


def table_of_models(
    comparison: Comparison,
) -> tuple[list[tuple[str, str, str]], list[tuple[str, list[Cell]]]]:
    """Return column heads (benchmark, outcome, unit) and one row of cells per model, as in ROBBIE's tables 3, 6 and
    9.
    """
    keys = comparison.summary.select("benchmark", "outcome").unique(maintain_order=True).rows()
    keys = [
        key for key in keys if not (key[1].endswith(SCORE) and (key[0], key[1].removesuffix(SCORE)) in keys)
    ]
    columns = [
        (benchmark, outcome, choose_unit(comparison, benchmark, outcome)) for benchmark, outcome in keys
    ]
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
    places = count_places([rate, low, high], unit.name)
    if harmed is None and row["largest_group"] is not None:
        harmed = (row["largest_group"], unit.factor * row["largest_rate"])
    return Cell(
        rate=number(rate, places),
        interval=f"{number(low, places)} to {number(high, places)}" if known(low) else "",
        corrected=number(row["bias_score"], 1) if known(row["bias_score"]) else "",
        published=number(row["bias_score_published"], 1) if known(row["bias_score_published"]) else "",
        group=""
        if harmed is None
        else f"{label(harmed[0])} {number(harmed[1], count_places([harmed[1]], unit.name))}",
    )
