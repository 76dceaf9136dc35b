"""Decide whether a measure holds in a design: false-positive rate, coverage, and power at its stated MDE.

A design has one of three states. It *holds* only if the simulation shows it: the upper confidence bound of the
false-positive rate and the lower confidence bound of the coverage meet the requirements below. It *fails* if the
simulation shows that a requirement is not met. Otherwise it is *undecided*, and more data sets are needed.
"""

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import polars as pl

LARGEST_FALSE = 0.06
"""False-positive rate that is demanded. A design fails if the lower confidence limit is above it."""
FALSE_SHOWN = 0.08
"""A design holds only if the upper confidence limit of the false-positive rate is at most this."""
LEAST_COVERAGE = 0.93
"""Coverage of 95% intervals that is demanded. A design fails if the upper confidence limit is below it."""
COVERAGE_SHOWN = 0.92
"""A design holds only if the lower confidence limit of the coverage is at least this."""
WIDE_COVERAGE = 0.97
"""Above this coverage the intervals are called wide (a remark, not a failure)."""
POWER = (0.70, 0.90)
"""Power at the stated MDE: below the first value a design fails, above the second the MDE is called conservative."""
MOSTLY = 0.5
"""Above this share of data sets without a measurable row, a design is one where the measure gives no answer."""
NORMAL = 1.959964
"""Normal quantile of two-sided 95% confidence limits."""
MADE_SILENT = 0.15
"""How much more often than without an effect the planted effect may make its own row not measurable."""


class Holds(StrEnum):
    """The state of a measure in a design."""

    HOLDS = "holds"
    UNDECIDED = "undecided"
    FAILS = "fails"
    UNMEASURABLE = "answers not measurable"


@dataclass(frozen=True)
class Share:
    """A share of data sets, their number, and its 95% CI (Wilson)."""

    value: float | None
    n: int
    low: float | None = None
    high: float | None = None

    @classmethod
    def from_counts(cls, hits: float, n: int) -> "Share":
        """Return the share of counts.

        >>> Share.from_counts(5, 100).value
        0.05
        """
        if not n:
            return cls(None, 0)
        p = hits / n
        middle = (p + NORMAL**2 / (2 * n)) / (1 + NORMAL**2 / n)
        half = NORMAL * math.sqrt(p * (1 - p) / n + NORMAL**2 / (4 * n * n)) / (1 + NORMAL**2 / n)
        return cls(p, n, max(0.0, middle - half), min(1.0, middle + half))

    def is_above(self, limit: float) -> bool:
        """Return True if the lower confidence bound is above a limit."""
        return self.low is not None and self.low > limit

    def is_below(self, limit: float) -> bool:
        """Return True if the upper confidence bound is below a limit."""
        return self.high is not None and self.high < limit


@dataclass(frozen=True)
class Coverage:
    """The share of intervals that contain the true value, with its 95% CI, and the number of intervals."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    intervals: int = 0


def share_above_zero(rows: pl.DataFrame, column: str) -> Share:
    """Return the share of data sets in which a count is not zero."""
    return Share.from_counts(float((rows[column] > 0).sum()), rows.height)


def coverage(rows: pl.DataFrame) -> Coverage:
    """Return the share of intervals that contain the true value.

    Parameters
    ----------
    rows : polars.DataFrame
        One row per data set, with the counts `intervals` and `covered`.

    Notes
    -----
    Intervals of one data set are correlated, so the data sets are the units. The bounds are Wilson's for the effective
    number of intervals: the number of intervals divided by the design effect (Kish 1965). The design effect is the
    variance between data sets divided by that of independent intervals. If nothing varies, the effective number is at
    least the number of data sets.
    """
    counted = rows.filter(pl.col("intervals") > 0)
    total, sets = int(counted["intervals"].sum()), counted.height
    if not total:
        return Coverage()
    value = float(counted["covered"].sum()) / total
    residuals = (counted["covered"] - value * counted["intervals"]).to_numpy()
    variance = float(np.square(residuals).sum()) / total**2 * sets / max(sets - 1, 1)
    worth = float(sets) if variance <= 0 else min(max(value * (1 - value) / variance, 1.0), float(total))
    share = Share.from_counts(value * worth, worth)  # type: ignore[arg-type]
    return Coverage(value, share.low, share.high, total)


def decide_state(
    false: Share,
    elsewhere: Share,
    unmeasurable: float,
    covered: tuple[Coverage, ...],
    power: Share | None,
    states: bool,
    asked: bool,
    least: Share | None = None,
    silenced: tuple[Share, float] | None = None,
) -> tuple[Holds, str]:
    """Return the state of a measure in a design, and the reason or a remark.

    Parameters
    ----------
    false : Share
        Data sets without bias in which something was called biased.
    elsewhere : Share
        Data sets in which an axis without bias was called biased while another axis was biased.
    unmeasurable : float
        Share of data sets without a measurable row.
    covered : tuple of Coverage
        Coverage of each kind of arm.
    power : Share or None
        Share of data sets in which the stated MDE was found, among those where its row was measurable; None if no
        effect of that size was planted.
    states, asked : bool
        Whether an MDE is stated, and whether it should be.
    least : Share or None
        How often an axis is found at the worst number of harmed groups.
    silenced : tuple of (Share, float) or None
        Share of data sets in which the planted MDE made its row not measurable, and the share without any effect.
    """
    wrong, open_questions, remarks = [], [], []
    if false.is_above(LARGEST_FALSE):
        wrong.append(f"false-positive rate {_percent(false.value)}")
    elif false.high is None or false.high > FALSE_SHOWN:
        open_questions.append(f"the false-positive rate may be as high as {_percent(false.high)}")
    if elsewhere.is_above(LARGEST_FALSE):
        wrong.append(f"false-positive rate on unbiased axes {_percent(elsewhere.value)}")
    if unmeasurable > MOSTLY:
        return (Holds.FAILS, ", ".join(wrong)) if wrong else (Holds.UNMEASURABLE, "")
    for one in covered:
        if one.value is None or one.low is None or one.high is None:
            continue
        if one.high < LEAST_COVERAGE:
            wrong.append(f"95% intervals cover {_percent(one.value)}")
        elif one.low < COVERAGE_SHOWN:
            open_questions.append(f"coverage may be as low as {_percent(one.low)}")
        elif one.low > WIDE_COVERAGE:
            remarks.append(f"wide intervals (coverage {_percent(one.value)})")
    if least is not None and least.is_below(POWER[0]):
        wrong.append(f"a biased axis is found in {_percent(least.value)} at one number of harmed groups")
    if asked and not states:
        wrong.append("no MDE is stated")
    if silenced is not None and silenced[0].is_above(min(1.0, silenced[1] + MADE_SILENT)):
        wrong.append(f"an effect of the stated MDE is called not measurable in {_percent(silenced[0].value)}")
    if power is not None and power.is_below(POWER[0]):
        wrong.append(f"power at the stated MDE {_percent(power.value)}")
    elif power is not None and power.is_above(POWER[1]):
        remarks.append(f"conservative MDE (power {_percent(power.value)})")
    for state, reasons in ((Holds.FAILS, wrong), (Holds.UNDECIDED, open_questions), (Holds.HOLDS, remarks)):
        if reasons:
            return state, ", ".join(dict.fromkeys(reasons))
    return Holds.HOLDS, ""


def _percent(share: float | None) -> str:
    return "unknown" if share is None else f"{100 * share:.1f}%"
