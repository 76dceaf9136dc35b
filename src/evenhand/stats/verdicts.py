"""From numbers to verdicts: biased, not detected, or not measurable, each with the reason in one sentence."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Literal

import numpy as np
import polars as pl

from evenhand.schema import FINDINGS, MEASUREMENTS, DataError, UsageError
from evenhand.stats.multiplicity import benjamini_hochberg

Harmful = Literal["above", "below", "either"]

LARGEST_MISSING_SHARE = 0.5
"""Above this share of missing rows a number is not judged: what is missing may be what matters."""


class Verdict(StrEnum):
    """What may be said about one measurement."""

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


def reach_verdicts(
    measurements: pl.DataFrame,
    alpha: float = 0.05,
    *,
    minimum_n: int = 10,
    harmful: Mapping[str, Harmful] | None = None,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Adjust p over families of tests and give every tested measurement its verdict.

    A family is all rows of the same benchmark and measure that agree in whether they name an axis,
    a group and a stratum; q is Benjamini and Hochberg's within it, over the rows that can be measured.
    - not measurable: no estimate, no p, fewer than `minimum_n` rows, or more rows missing than there;
    - biased: q <= alpha and the interval excludes the null (the ideal where no null is known) on the
      harmful side; where interval or null is missing, q alone decides;
    - not detected: everything else, naming the smallest effect the sample could have seen.
    Rows with neither p nor null nor ideal are descriptions and get no finding.

    Arguments: `measurements`, with the columns of `schema.MEASUREMENTS`; `alpha`, the false discovery
    rate; `minimum_n`; `harmful`, by measure, on which side of the null harm lies ("either" unless
    given). Returns (measurements with q filled in, findings with the columns of `schema.FINDINGS`), rows
    in their order. Raises DataError if a column is missing, UsageError for a bad alpha or side.
    Source: methods/statistics.md, best practice.

    >>> from evenhand.schema import Measurement, measurement_frame
    >>> rows = [Measurement(measure="m", estimate=0.7, low=0.6, high=0.8, n=90, null=0.5, p=0.001)]
    >>> reach_verdicts(measurement_frame(rows))[1]["verdict"].to_list()
    ['biased']
    """
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
        raise UsageError(f"alpha is {alpha}; a false discovery rate lies between 0 and 1.")
    rows = [_without_nan(row) for row in measurements.select(list(MEASUREMENTS)).to_dicts()]
    obstacles = [_obstacle(row, minimum_n) for row in rows]
    for row, q in zip(rows, _adjusted(rows, obstacles), strict=True):
        row["q"] = q
    findings = [
        _finding(row, obstacle, alpha, sides.get(row["measure"], "either"))
        for row, obstacle in zip(rows, obstacles, strict=True)
        if not all(row[name] is None for name in ("p", "null", "ideal"))
    ]
    q_column = pl.Series("q", [row["q"] for row in rows], dtype=pl.Float64)
    table = pl.DataFrame([asdict(finding) for finding in findings], schema=FINDINGS)
    return measurements.with_columns(q_column), table


def _adjusted(rows: list[dict[str, Any]], obstacles: list[str | None]) -> list[float | None]:
    families: dict[tuple[Any, ...], list[int]] = {}
    for place, (row, obstacle) in enumerate(zip(rows, obstacles, strict=True)):
        if obstacle is None:
            absent = tuple(row[name] is None for name in ("axis", "group", "stratum"))
            families.setdefault((row["benchmark"], row["measure"], *absent), []).append(place)
    adjusted: list[float | None] = [None] * len(rows)
    for places in families.values():
        q = benjamini_hochberg(np.array([rows[place]["p"] for place in places]))
        for place, value in zip(places, q, strict=True):
            adjusted[place] = float(value)
    return adjusted


def _obstacle(row: dict[str, Any], minimum_n: int) -> str | None:
    """Why the row cannot be judged, or None."""
    n, absent = row["n"] or 0, row["n_missing"] or 0
    if n + absent > 0 and absent / (n + absent) > LARGEST_MISSING_SHARE:
        return f"{absent} of {n + absent} rows are missing, more than are there."
    if n < minimum_n:
        return f"It rests on {n} {'row' if n == 1 else 'rows'}; at least {minimum_n} are needed."
    if row["estimate"] is None:
        return "There is no estimate."
    if row["p"] is None:
        return "There is no test against the null."
    return None


def _finding(row: dict[str, Any], obstacle: str | None, alpha: float, side: Harmful) -> Finding:
    if obstacle is not None:
        verdict, note = Verdict.NOT_MEASURABLE, obstacle
    else:
        verdict, note = _judged(row, alpha, side)
    copied = ("measure", "axis", "group", "stratum", "estimate", "low", "high", "null", "q")
    return Finding(
        benchmark=row["benchmark"] or "",
        verdict=verdict,
        minimum_detectable=row["minimum_detectable"],
        note=note,
        **{name: row[name] for name in copied},
    )


def _judged(row: dict[str, Any], alpha: float, side: Harmful) -> tuple[Verdict, str]:
    reference = row["null"] if row["null"] is not None else row["ideal"]
    low, high, q = row["low"], row["high"], row["q"]
    adjusted = "q below 0.0001" if q < 0.0001 else f"q = {_number(q)}"
    if q > alpha:
        return Verdict.NOT_DETECTED, f"{_not_seen(row, reference)} ({adjusted})."
    if reference is None or low is None or high is None:
        return Verdict.BIASED, f"{_seen(row, reference)} ({adjusted}, by the test alone)."
    limits = f"interval {_number(low)} to {_number(high)}, {adjusted}"
    if low <= reference <= high:
        note = f"The test points to a difference, but the interval includes {_number(reference)} ({limits})."
        return Verdict.NOT_DETECTED, note
    where = "above" if low > reference else "below"
    if side not in ("either", where):
        note = f"It lies {where} {_number(reference)}, which is not the harmful side ({limits})."
        return Verdict.NOT_DETECTED, note
    return Verdict.BIASED, f"{_seen(row, reference)} ({limits})."


def _seen(row: dict[str, Any], reference: float | None) -> str:
    estimate = f"{_number(row['estimate'])}{_unit(row)}"
    if reference is None:
        return estimate
    whose = "an unbiased model gives" if row["null"] is not None else "the ideal is"
    return f"{estimate} where {whose} {_number(reference)}"


def _not_seen(row: dict[str, Any], reference: float | None) -> str:
    whose = "null" if row["null"] is not None else "ideal"
    against = "" if reference is None else f" from the {whose} of {_number(reference)}"
    smallest = row["minimum_detectable"]
    if smallest is None:
        return f"No difference{against} detected; how small a one could have been seen is not known"
    size = f"{_number(smallest)} {row['effect_unit'] or row['unit']}".strip()
    return f"No difference{against} detected; one of {size} would probably have been seen"


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
