"""Render calibration.html: each measure with its designs, power curves, invariance checks and limits."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from markupsafe import Markup

from evenhand.reports import axis_svg, rendered
from evenhand.schema import VERSION
from evenhand.studies.calibration.charts import FALSE_SCALE, Curve, curve_svg, false_svg, percents
from evenhand.studies.calibration.holding import POWER, Holds
from evenhand.studies.calibration.options import CalibrationOptions
from evenhand.studies.calibration.wording import between, conclusive, headline, overall_state, percent

KINDS = {
    Holds.HOLDS: "clear",
    Holds.UNDECIDED: "blank",
    Holds.FAILS: "biased",
    Holds.UNMEASURABLE: "blank",
}


@dataclass(frozen=True)
class DesignRow:
    """One design of a measure in the report: text cells and a chart of false verdicts."""

    name: str
    about: str
    measure: str
    n: str
    false: str
    chart: Markup
    cover: str
    stated: str
    power: str
    verdict: str
    why: str
    kind: str


@dataclass(frozen=True)
class MeasureView:
    """One measure: its state and sentence, its designs with the worst first, and its curves (caption, drawing)."""

    name: str
    anchor: str
    kind: str
    state: str
    sentence: str
    chart: Markup
    row: Mapping[str, Any]
    designs: tuple[DesignRow, ...]
    curves: tuple[tuple[str, Markup], ...]


def calibration_page(
    tables: Mapping[str, pl.DataFrame], options: CalibrationOptions, without: Mapping[str, str]
) -> str:
    """Return the page as one HTML document that needs no network; every text is escaped."""
    tables = {**tables, **_sure(tables, options.size)}
    designs = tables["designs"]
    standard = designs.filter(pl.col("role") == "standard")
    return rendered(
        Path(__file__).with_name("calibration.html.j2"),
        title="Calibration of verdicts",
        headline=headline(tables, options.size),
        options=options,
        version=VERSION,
        sets=_data_sets(designs),
        measures=[_measure(row, tables, standard) for row in tables["measures"].to_dicts()],
        scale=axis_svg(FALSE_SCALE, ["0", "5 %", "10 %", "15 %", "20 %"]),
        limits=[_design(row) for row in designs.filter(pl.col("role") == "limit").to_dicts()],
        limit_doses=_limit_doses(tables),
        moves=tables["moves"].to_dicts(),
        halves=tables["halves"].to_dicts(),
        without=without,
        percent=percent,
        figure=figure,
        between=between,
    )


def _sure(tables: Mapping[str, pl.DataFrame], size: str) -> dict[str, pl.DataFrame]:
    """Return designs and measures with failures that a quick study cannot show replaced by "undecided"."""
    if size != "quick":
        return {}
    sure = conclusive(tables, size).select("measure", "design").with_columns(sure=pl.lit(True))
    unsure = (pl.col("verdict") == Holds.FAILS) & (pl.col("role") == "standard") & pl.col("sure").is_null()
    designs = tables["designs"].join(sure, on=["measure", "design"], how="left", maintain_order="left")
    designs = designs.with_columns(
        verdict=pl.when(unsure).then(pl.lit(str(Holds.UNDECIDED))).otherwise("verdict"),
        why=pl.when(unsure).then(pl.lit("")).otherwise("why"),
    ).drop("sure")
    failing = sure.group_by("measure").agg(failing=pl.len().cast(pl.Int64))
    measures = (
        tables["measures"].drop("failing").join(failing, on="measure", how="left", maintain_order="left")
    )
    return {"designs": designs, "measures": measures.with_columns(pl.col("failing").fill_null(0))}


def _data_sets(designs: pl.DataFrame) -> int:
    """Return the number of simulated data sets; the measures of a design share them."""
    each = designs.group_by("design").agg(pl.col("n", "n_planted").max())
    return int(each["n"].sum()) + int(each["n_planted"].sum())


def figure(value: float | None) -> str:
    """Return a number with three significant digits.

    >>> figure(12.345), figure(None), figure(0.0)
    ('12.3', '–', '0')
    """
    return "–" if value is None else "0" if abs(value) < 1e-9 else f"{value:.3g}"


def sentence(row: Mapping[str, Any]) -> str:
    """Return the sentence about a measure, its worst design first.

    >>> sentence({"designs": 0, "unmeasurable": 2})
    'The measure answers “not measurable” in all 2 designs.'
    """
    if not row["designs"]:
        return f"The measure answers “not measurable” in all {row['unmeasurable']} designs."
    text = (
        f"Worst design: {row['worst_design']}, with a false-positive rate of {percent(row['worst_false'])} in "
        f"{row['worst_n']:,} data sets without bias"
    )
    if row["designs"] > 1:
        text += f". All {row['designs']} designs: {percent(row['false'])} of {row['n']:,} data sets"
    text += f". The measure holds in {row['holding']} of {row['designs']} designs"
    text += "".join(
        f", {verb} in {row[name]}"
        for name, verb in (("undecided", "is undecided"), ("failing", "fails"))
        if row[name]
    )
    if row["unmeasurable"]:
        text += f". It answers “not measurable” in {row['unmeasurable']} more"
    return f"{text}."


def _measure(
    row: Mapping[str, Any], tables: Mapping[str, pl.DataFrame], designs: pl.DataFrame
) -> MeasureView:
    name = row["measure"]
    mine = (
        designs.filter(pl.col("measure") == name).sort("false", descending=True, nulls_last=True).to_dicts()
    )
    fails = bool(row["failing"])
    kind = KINDS.get(Holds(state), "blank") if (state := overall_state(row)) in list(Holds) else "blank"
    worst = max((one for one in mine if one["false"] is not None), key=lambda one: one["false"], default=None)
    chart = false_svg(
        row["false"],
        None
        if worst is None
        else min((one["false"] for one in mine if one["false"] is not None), default=None),
        None if worst is None else worst["false"],
        fails=fails,
        described=f"{name}: false-positive rate {percent(row['false'])} across all designs, "
        f"{percent(row['worst_false'])} in the worst design",
    )
    return MeasureView(
        name,
        f"measure-{name}",
        kind,
        state,
        sentence(row),
        chart,
        row,
        tuple(_design(one) for one in mine),
        tuple(_curves(name, tables)),
    )


def _design(row: Mapping[str, Any]) -> DesignRow:
    fails = row["verdict"] == Holds.FAILS
    cover = " / ".join(
        percent(row[name]) for name in ("coverage", "coverage_planted") if row[name] is not None
    )
    power = (
        "–"
        if row["power"] is None
        else f"{percent(row['power'])} ({between(row['power_low'], row['power_high'])})"
    )
    return DesignRow(
        row["design"],
        row["about"],
        row["measure"],
        f"{row['n']:,}",
        percent(row["false"]),
        false_svg(
            row["false"],
            row["false_low"],
            row["false_high"],
            fails=fails,
            described=f"{row['design']}: false-positive rate {percent(row['false'])}, "
            f"{percent(row['false_low'])} to {percent(row['false_high'])}",
        ),
        cover or "–",
        figure(row["stated"]),
        power,
        row["verdict"],
        row["why"],
        KINDS.get(row["verdict"], "clear"),
    )


def _curves(measure: str, tables: Mapping[str, pl.DataFrame]) -> list[tuple[str, Markup]]:
    """Return curves of power by share of the stated effect, and of detection by dose, if there are several points."""
    drawn = []
    mine = tables["power"].filter(pl.col("measure") == measure)
    for (design,), part in mine.group_by("design", maintain_order=True):
        curve = Curve(
            tuple(part["factor"]),
            percents(part["found"].to_list()),
            percents(part["low"].to_list()),
            percents(part["high"].to_list()),
        )
        picture = curve_svg(
            curve,
            "multiples of the stated MDE",
            f"Power in {design}",
            band=(100 * POWER[0], 100 * POWER[1]),
        )
        if picture is not None:
            drawn.append((f"{design}: power by the size of the planted effect", picture))
    doses = tables["doses"].filter(pl.col("measure") == measure)
    for (design, kind), part in doses.group_by("design", "kind", maintain_order=True):
        column = "found"
        curve = Curve(tuple(part["dose"]), percents(part[column].to_list()))
        picture = curve_svg(curve, str(kind), f"Power in {design}")
        if picture is not None:
            drawn.append((f"{design}: power by {kind}", picture))
    return drawn


def _limit_doses(tables: Mapping[str, pl.DataFrame]) -> list[dict[str, Any]]:
    """Return what is detected if the assumptions of a measure are violated."""
    limits = tables["designs"].filter(pl.col("role") == "limit")["design"].unique().to_list()
    return tables["doses"].filter(pl.col("design").is_in(limits)).to_dicts()
