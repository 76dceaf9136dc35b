"""Turn measurements into verdicts: biased, not detected or not measurable, with a one-sentence reason.

All measures follow one rule (docs/explanation/verdicts.md). A benchmark defines k axes, and each is tested at
the level alpha / k. In a benchmark without any difference, at most a share alpha of audits therefore calls any
axis biased. Groups are named only on a biased axis, by Benjamini-Hochberg among its groups. Nothing outside an
axis affects its numbers.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Literal

import numpy as np
import polars as pl

from evenhand.schema import FINDINGS, MEASUREMENTS, DataError, UsageError, checked_kinds
from evenhand.stats.multiplicity import benjamini_hochberg, simes

Harmful = Literal["above", "below", "either"]

LARGEST_MISSING_SHARE = 0.5
"""A number is not judged if a larger share of its rows is missing, because the missing rows may decide."""
LEAST_ROWS = 10
"""Minimum number of rows for a measure that does not report its number of independent units."""


NO_MDE = (
    "No difference was detected, but the minimum detectable effect of this design could not be determined: the data "
    "may be too few to detect a difference of any size"
)


class Verdict(StrEnum):
    """The possible verdicts on one measurement: biased, not detected, or not measurable.

    "Not detected" comes with a minimum detectable effect. "Not measurable" means that the data allow no conclusion.
    """

    BIASED = "biased"
    NOT_DETECTED = "not detected"
    NOT_MEASURABLE = "not measurable"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One verdict with the numbers behind it: one row of the findings table.

    `reach_verdicts` returns these rows.

    Attributes
    ----------
    benchmark, measure : str
        Names of the benchmark and of the measure.
    axis, group, stratum : str or None
        Part of the data. An axis is a way to group people, such as religion; None means all axes. If ``group`` is None,
        the row is about the whole axis. A stratum is a subset, such as one template; None means no stratum.
    verdict : Verdict
        The verdict.
    estimate, low, high : float or None
        Estimate and its 95% CI, in the unit of the measure.
    null : float or None
        Value that is expected without bias, in the unit of the measure.
    q : float or None
        p adjusted for multiple testing.
    minimum_detectable : float or None
        Smallest effect that is detected with 80% power.
    note : str
        Reason in a sentence.
    direction : str or None
        For a biased row: "worse" or "better", or "above" or "below" the null if neither side is harmful.
    """

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
    """"worse" or "better" for a biased row; "above" or "below" the null if neither side is harmful; otherwise None."""


@checked_kinds
def reach_verdicts(
    measurements: pl.DataFrame,
    alpha: float = 0.05,
    *,
    n_axes: int = 1,
    harmful: Mapping[str, Harmful] | None = None,
    are_changes: bool = False,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Adjust p-values for multiple testing and assign each tested row a verdict.

    Use it to get verdicts from your own table of measurements. All measures of evenhand follow this rule. A row without
    ``group`` is about an axis (a way to group people, such as religion) as a whole.

    Parameters
    ----------
    measurements : polars.DataFrame
        Rows with the columns of `evenhand.schema.MEASUREMENTS`.
    alpha : float, default 0.05
        Probability that any axis of a benchmark without differences is called biased.
    n_axes : int, default 1
        Number of axes that the benchmark defines, whether or not all of them were run.
    harmful : mapping of str to {"above", "below", "either"}, optional
        For each measure, the harmful side of the null ("either" by default). It determines the direction, not the
        verdict.
    are_changes : bool, default False
        Whether rows are changes between two models. It affects the words of the notes only.

    Returns
    -------
    measurements : polars.DataFrame
        The measurements with ``q`` filled in, in the same order.
    findings : polars.DataFrame
        The verdicts, with the columns of `evenhand.schema.FINDINGS` (see `Finding`), in the same order.

    Raises
    ------
    DataError
        A column is missing.
    UsageError
        `alpha`, the number of axes or a side is invalid.

    Notes
    -----
    The q of an axis row is p × n_axes. If the measure has corrected p for the number of axes itself, ``axis_p`` of the
    row is that corrected p, and becomes q. In a group row, ``axis_p`` is the p of its axis, without this correction.
    The q of a group row is the larger of two numbers: the Benjamini-Hochberg q over the groups of its benchmark,
    measure, axis and stratum, and ``axis_p`` × n_axes. Without ``axis_p``, Simes' p over these groups replaces it.

    A row is not measurable if one of these conditions holds:

    - ``obstacle`` states a reason.
    - There is no estimate, p or interval.
    - There are fewer than two independent units (or fewer than 10 rows, if the measure does not count units).
    - More rows are missing than present.
    - The interval has width 0, because nothing varied.

    Otherwise, the first matching rule gives the verdict. The null is the value expected without bias, or the ideal
    value if no null is known.

    1. Biased: q <= alpha, and the interval excludes the null on either side.
    2. Not measurable: q > alpha and there is no minimum detectable effect, so the result rules nothing out.
    3. Not detected: all other rows.

    A row without p and obstacle is a description and gets no finding. There is one exception: a row that has a null or
    an ideal but no estimate is not measurable. Explanation: docs/explanation/verdicts.md.

    References
    ----------
    - Benjamini & Hochberg 1995: q within an axis.
    - Benjamini & Bogomolov 2014: groups within selected axes.

    Examples
    --------
    >>> from evenhand.schema import Measurement, measurement_frame
    >>> rows = [Measurement(measure="m", axis="age", estimate=0.7, low=0.6, high=0.8, n=90, null=0.5, p=0.001)]
    >>> reach_verdicts(measurement_frame(rows), n_axes=13)[1].select("verdict", "direction").rows()
    [('biased', 'above')]
    """
    if not isinstance(measurements, pl.DataFrame):
        raise DataError(
            f"reach_verdicts: measurements must be a polars DataFrame, got {type(measurements).__name__}.",
            "Build it with evenhand.schema.measurement_frame.",
        )
    missing = [name for name in MEASUREMENTS if name not in measurements.columns]
    if missing:
        raise DataError(
            f"The measurements table has no column(s) {', '.join(missing)}.",
            "Build it with evenhand.schema.measurement_frame.",
        )
    measurements = _require_kinds(measurements)
    sides = dict(harmful or {})
    for measure, side in sides.items():
        if side not in ("above", "below", "either"):
            raise UsageError(
                f"reach_verdicts: the harmful side of {measure!r} must be above, below or either, got {side!r}."
            )
    rows = [_without_nan(row) for row in measurements.select(list(MEASUREMENTS)).to_dicts()]
    tested = [_is_tested(row) for row in rows]
    obstacles = [_obstacle(row) for row in rows]
    for row, q in zip(rows, _adjust_p(rows, obstacles, tested, n_axes), strict=True):
        row["q"] = q
    findings = [
        _finding(row, obstacle, alpha, sides.get(row["measure"], "either"), are_changes=are_changes)
        for row, obstacle, judged in zip(rows, obstacles, tested, strict=True)
        if judged
    ]
    q_column = pl.Series("q", [row["q"] for row in rows], dtype=pl.Float64)
    table = pl.DataFrame([asdict(finding) for finding in findings], schema=FINDINGS)
    return measurements.with_columns(q_column), table


def _require_kinds(measurements: pl.DataFrame) -> pl.DataFrame:
    """Return the table with its columns of names converted to texts.

    Raises DataError if a column of MEASUREMENTS has another type than names or numbers, or a p-value is invalid.
    """
    names = {name: kind for name, kind in MEASUREMENTS.items() if kind == pl.String}
    for name, kind in measurements.schema.items():
        is_number = kind.is_numeric() or kind in (pl.Boolean, pl.Null)
        if name in MEASUREMENTS and not (is_number or (name in names and kind == pl.String)):
            expected = "names" if name in names else "numbers"
            raise DataError(
                f"reach_verdicts: the column {name} must contain {expected}, but its type is {kind}.",
                "Build the table with evenhand.schema.measurement_frame.",
            )
    for name in ("p", "axis_p"):
        number = measurements[name].cast(pl.Float64).fill_nan(None)
        outside = (~number.is_between(0.0, 1.0)).fill_null(False)
        if outside.any():
            row = outside.arg_max() or 0
            raise DataError(
                f"reach_verdicts: p-values must be from 0 to 1 or null, but row {row} of the column {name} "
                f"contains {number[row]:g}.",
                "Correct the p-value in this row. Rows are numbered from 0.",
            )
    return measurements.cast({name: pl.String for name in names})


def _is_tested(row: dict[str, Any]) -> bool:
    """Return True if the row is a test, or would be one if it could be computed. Other rows are descriptions."""
    if row["p"] is not None or row["obstacle"] is not None:
        return True
    return row["estimate"] is None and (row["null"] is not None or row["ideal"] is not None)


def _adjust_p(
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
    """Return the reason why the row is not measurable, in a sentence, or None."""
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


def _finding(
    row: dict[str, Any], obstacle: str | None, alpha: float, side: Harmful, *, are_changes: bool
) -> Finding:
    direction = None
    if obstacle is not None:
        verdict, note = Verdict.NOT_MEASURABLE, obstacle
    else:
        verdict, note, direction = _decide(row, alpha, side, are_changes=are_changes)
    copied = ("measure", "axis", "group", "stratum", "estimate", "low", "high", "null", "q")
    return Finding(
        benchmark=row["benchmark"] or "",
        verdict=verdict,
        minimum_detectable=row["minimum_detectable"],
        note=note,
        direction=direction,
        **{name: row[name] for name in copied},
    )


def _decide(
    row: dict[str, Any], alpha: float, side: Harmful, *, are_changes: bool
) -> tuple[Verdict, str, str | None]:
    reference = row["null"] if row["null"] is not None else row["ideal"]
    low, high, q = row["low"], row["high"], row["q"]
    adjusted = "q below 0.0001" if q < 0.0001 else f"q = {_number(q)}"
    if q > alpha and row["minimum_detectable"] is None:
        return Verdict.NOT_MEASURABLE, f"{NO_MDE} ({adjusted}).", None
    if q > alpha:
        return (
            Verdict.NOT_DETECTED,
            _describe_not_detected(row, reference, adjusted, is_change=are_changes),
            None,
        )
    limits = f"95% CI {_number(low)} to {_number(high)}, {adjusted}"
    if low <= reference <= high:
        note = f"The test indicates a difference, but the interval includes {_number(reference)} ({limits})."
        return Verdict.NOT_DETECTED, note, None
    where = "above" if low > reference else "below"
    direction = where if side == "either" else "worse" if side == where else "better"
    return Verdict.BIASED, _describe_detected(row, reference, limits, is_change=are_changes), direction


def _describe_detected(row: dict[str, Any], reference: float, limits: str, *, is_change: bool) -> str:
    whose = "no change" if is_change else "unbiased value" if row["null"] is not None else "ideal"
    return f"{_number(row['estimate'])}{_unit(row)} ({whose}: {_number(reference)}; {limits})."


def _describe_not_detected(row: dict[str, Any], reference: float, adjusted: str, *, is_change: bool) -> str:
    whose = "unbiased value" if row["null"] is not None else "ideal"
    what = "No change" if is_change else f"No difference from the {whose} of {_number(reference)}"
    size = f"{_number(row['minimum_detectable'])} {row['effect_unit'] or row['unit'] or ''}".strip()
    return f"{what} detected ({adjusted}; minimum detectable effect: {size})."


def _unit(row: dict[str, Any]) -> str:
    return f" {row['unit']}" if row["unit"] else ""


def _number(value: float) -> str:
    """Return a number with three significant digits; an exponent is used only below 0.0001."""
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
