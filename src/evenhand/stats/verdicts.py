"""Turn numbers into verdicts: biased, not detected, or not measurable, each with the reason in one sentence.

One rule for all measures (docs/explanation/verdicts.md). A benchmark defines k axes and each is tested at the level
alpha / k, so that in a benchmark without any difference one or more axes are called biased in at most alpha of all
audits. Groups are named only within such an axis, by Benjamini and Hochberg among its groups. Nothing outside an axis
enters its numbers.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Literal

import numpy as np
import polars as pl

from evenhand.schema import FINDINGS, MEASUREMENTS, DataError, UsageError
from evenhand.stats.multiplicity import benjamini_hochberg, simes

Harmful = Literal["above", "below", "either"]

LARGEST_MISSING_SHARE = 0.5
"""Above this share of missing rows there is no verdict: what is missing may be what matters."""
LEAST_ROWS = 10
"""Least number of rows for a verdict, if a measure does not state its number of independent units."""


NO_MDE = (
    "No difference was detected, but the minimum detectable effect of this design could not be determined: the data "
    "may be too few to detect a difference of any size"
)


class Verdict(StrEnum):
    """The verdict on one measurement."""

    BIASED = "biased"
    NOT_DETECTED = "not detected"
    NOT_MEASURABLE = "not measurable"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One verdict and what it rests on: one row of the findings table."""

    benchmark: str
    measure: str
    axis: str | None
    group: str | None
    stratum: str | None
    verdict: Verdict
    estimate: float | None
    low: float | None
    high: float | None
    null: float | None
    q: float | None
    minimum_detectable: float | None
    note: str
    direction: str | None = None
    """For a biased row: worse or better, or above or below if neither side is the harmful one."""


def reach_verdicts(
    measurements: pl.DataFrame,
    alpha: float = 0.05,
    *,
    n_axes: int = 1,
    harmful: Mapping[str, Harmful] | None = None,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Adjust p for all that was tested and give every tested measurement its verdict.

    q of an axis' row is p times n_axes, or its axis_p where its measure has adjusted p itself. q of a group's row is
    the larger of Benjamini and Hochberg's over the groups of its benchmark, measure, axis and stratum, and of axis_p
    times n_axes; where a measure gives no axis_p, Simes' p over these rows stands in for it. Whatever q is at most
    alpha has p at most alpha, too.
    - not measurable: the row names an obstacle, or has no estimate, p or interval; fewer than two independent units
      (of a measure that does not count them, fewer than LEAST_ROWS rows); more rows missing than present; an interval
      of width 0, because nothing varied;
    - biased: q <= alpha and the interval excludes the null (the ideal where no null is known), on either side;
    - not measurable, too: q > alpha in a row without a minimum detectable effect, since nothing can be promised of it;
    - not detected: everything else, with the minimum detectable effect.
    Rows with neither p nor obstacle nor null nor ideal are descriptions and get no finding; nor do rows with null or
    ideal alone, if they have an estimate.

    Arguments: `measurements`, with the columns of `schema.MEASUREMENTS`; `alpha`, the chance of any false verdict
    on a benchmark without differences; `n_axes`, the axes that the benchmark defines, run or not; `harmful`, by
    measure, on which side of the null harm lies ("either" unless given): it names the direction and decides nothing.
    Returns (measurements with q filled in, findings with the columns of `schema.FINDINGS`), rows in their order.
    Raises DataError if a column is missing, UsageError for a bad alpha, number of axes or side.
    Source: Benjamini & Hochberg 1995; Benjamini & Bogomolov 2014 for groups within selected axes.

    >>> from evenhand.schema import Measurement, measurement_frame
    >>> rows = [Measurement(measure="m", axis="age", estimate=0.7, low=0.6, high=0.8, n=90, null=0.5, p=0.001)]
    >>> reach_verdicts(measurement_frame(rows), n_axes=13)[1].select("verdict", "direction").rows()
    [('biased', 'above')]
    """
    if not isinstance(measurements, pl.DataFrame):
        raise DataError(
            f"reach_verdicts takes a polars DataFrame as measurements, and was given {type(measurements).__name__}.",
            "Build it with evenhand.schema.measurement_frame.",
        )
    missing = [name for name in MEASUREMENTS if name not in measurements.columns]
    if missing:
        raise DataError(
            f"The measurements table lacks the column(s) {', '.join(missing)}.",
            "Build it with evenhand.schema.measurement_frame.",
        )
    sides = dict(harmful or {})
    for measure, side in sides.items():
        if side not in ("above", "below", "either"):
            raise UsageError(
                f"The harmful side of {measure!r} is {side!r}; it can be above, below or either."
            )
    if not 0.0 < alpha < 1.0:
        raise UsageError(f"alpha is {alpha}; the chance of a false verdict lies between 0 and 1.")
    if n_axes < 1:
        raise UsageError(f"n_axes is {n_axes}; a benchmark has at least one axis.")
    rows = [_without_nan(row) for row in measurements.select(list(MEASUREMENTS)).to_dicts()]
    tested = [_is_tested(row) for row in rows]
    obstacles = [_obstacle(row) for row in rows]
    for row, q in zip(rows, _adjusted(rows, obstacles, tested, n_axes), strict=True):
        row["q"] = q
    findings = [
        _finding(row, obstacle, alpha, sides.get(row["measure"], "either"))
        for row, obstacle, judged in zip(rows, obstacles, tested, strict=True)
        if judged
    ]
    q_column = pl.Series("q", [row["q"] for row in rows], dtype=pl.Float64)
    table = pl.DataFrame([asdict(finding) for finding in findings], schema=FINDINGS)
    return measurements.with_columns(q_column), table


def _is_tested(row: dict[str, Any]) -> bool:
    """Whether the row is a test, or would be one if it could; all others describe."""
    if row["p"] is not None or row["obstacle"] is not None:
        return True
    return row["estimate"] is None and (row["null"] is not None or row["ideal"] is not None)


def _adjusted(
    rows: list[dict[str, Any]], obstacles: list[str | None], tested: list[bool], n_axes: int
) -> list[float | None]:
    families: dict[tuple[Any, ...], list[int]] = {}
    adjusted: list[float | None] = [None] * len(rows)
    for place, (row, obstacle, judged) in enumerate(zip(rows, obstacles, tested, strict=True)):
        if obstacle is not None or not judged:
            continue
        if row["group"] is None:
            own = row["axis_p"]
            adjusted[place] = min(1.0, row["p"] * n_axes) if own is None else own
        else:
            key = (row["benchmark"], row["measure"], row["axis"], row["stratum"])
            families.setdefault(key, []).append(place)
    for places in families.values():
        p = np.array([rows[place]["p"] for place in places])
        by_simes = simes(p)
        for place, value in zip(places, benjamini_hochberg(p), strict=True):
            whole = rows[place]["axis_p"]
            gate = (by_simes if whole is None else whole) * n_axes
            adjusted[place] = max(float(value), min(1.0, gate))
    return adjusted


def _obstacle(row: dict[str, Any]) -> str | None:
    """Why the row cannot be judged, or None."""
    if row["obstacle"] is not None:
        return str(row["obstacle"])
    n, absent, units = row["n"] or 0, row["n_missing"] or 0, row["n_units"]
    if n + absent > 0 and absent / (n + absent) > LARGEST_MISSING_SHARE:
        return f"{absent:,} of {n + absent:,} rows are missing. At least half must be present."
    if units is not None and units < 2:
        there = "is only 1 independent unit" if units == 1 else f"are {units} independent units"
        return f"There {there}. At least two are needed."
    if units is None and n < LEAST_ROWS:
        there = "is only 1 row" if n == 1 else f"are only {n} rows"
        return f"There {there}. At least {LEAST_ROWS} are needed."
    if row["estimate"] is None:
        return "No estimate could be computed."
    if row["p"] is None:
        return "This measure has no test here."
    if row["low"] is None or row["high"] is None:
        return "No confidence interval could be computed."
    if row["high"] <= row["low"]:
        return "The confidence interval has width 0, because nothing varied in the data."
    if row["null"] is None and row["ideal"] is None:
        return "The value expected of an unbiased model is unknown."
    return None


def _finding(row: dict[str, Any], obstacle: str | None, alpha: float, side: Harmful) -> Finding:
    direction = None
    if obstacle is not None:
        verdict, note = Verdict.NOT_MEASURABLE, obstacle
    else:
        verdict, note, direction = _judged(row, alpha, side)
    copied = ("measure", "axis", "group", "stratum", "estimate", "low", "high", "null", "q")
    return Finding(
        benchmark=row["benchmark"] or "",
        verdict=verdict,
        minimum_detectable=row["minimum_detectable"],
        note=note,
        direction=direction,
        **{name: row[name] for name in copied},
    )


def _judged(row: dict[str, Any], alpha: float, side: Harmful) -> tuple[Verdict, str, str | None]:
    reference = row["null"] if row["null"] is not None else row["ideal"]
    low, high, q = row["low"], row["high"], row["q"]
    adjusted = "q below 0.0001" if q < 0.0001 else f"q = {_number(q)}"
    if q > alpha and row["minimum_detectable"] is None:
        return Verdict.NOT_MEASURABLE, f"{NO_MDE} ({adjusted}).", None
    if q > alpha:
        return Verdict.NOT_DETECTED, _not_seen(row, reference, adjusted), None
    limits = f"95% CI {_number(low)} to {_number(high)}, {adjusted}"
    if low <= reference <= high:
        note = f"The test indicates a difference, but the interval includes {_number(reference)} ({limits})."
        return Verdict.NOT_DETECTED, note, None
    where = "above" if low > reference else "below"
    direction = where if side == "either" else "worse" if side == where else "better"
    return Verdict.BIASED, _seen(row, reference, limits), direction


def _seen(row: dict[str, Any], reference: float, limits: str) -> str:
    whose = "unbiased value" if row["null"] is not None else "ideal"
    return f"{_number(row['estimate'])}{_unit(row)} ({whose}: {_number(reference)}; {limits})."


def _not_seen(row: dict[str, Any], reference: float, adjusted: str) -> str:
    whose = "unbiased value" if row["null"] is not None else "ideal"
    against = f" from the {whose} of {_number(reference)}"
    size = f"{_number(row['minimum_detectable'])} {row['effect_unit'] or row['unit'] or ''}".strip()
    return f"No difference{against} detected ({adjusted}). Minimum detectable effect: {size}."


def _unit(row: dict[str, Any]) -> str:
    return f" {row['unit']}" if row["unit"] else ""


def _number(value: float) -> str:
    """Three significant digits, for people; an exponent only below 0.0001."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    if abs(value) < 0.0001:
        return f"{value:.1g}"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    text = f"{value:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _without_nan(row: dict[str, Any]) -> dict[str, Any]:
    return {
        name: None if isinstance(value, float) and math.isnan(value) else value for name, value in row.items()
    }
