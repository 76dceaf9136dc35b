"""Whether a measure holds in a design: false verdicts, coverage, power at its stated smallest effect.

Each demand allows two standard errors of the simulation.
"""

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import polars as pl

LARGEST_FALSE = 0.06
COVERAGE = (0.93, 0.97)
POWER = (0.70, 0.90)
MOSTLY = 0.5
"""Above this share of data sets without a measurable row, a design is one where the measure gives no answer."""
ERRORS = 2.0
MADE_SILENT = 0.15
"""Above the share that is not measurable anyway: so often an effect may leave its own row not measurable."""


class Holds(StrEnum):
    """What a calibration says of a measure in a design."""

    HOLDS = "holds"
    CAUTIOUS = "holds, cautiously"
    FAILS = "does not hold"
    UNMEASURABLE = "answers not measurable"


@dataclass(frozen=True)
class Share:
    """A share of replications: how many, and its Monte-Carlo limits (Wilson, 95 %)."""

    value: float | None
    n: int
    low: float | None = None
    high: float | None = None

    @classmethod
    def of(cls, hits: float, n: int) -> "Share":
        """Of counts.

        >>> Share.of(5, 100).value
        0.05
        """
        if not n:
            return cls(None, 0)
        p, z = hits / n, 1.959964
        middle = (p + z * z / (2 * n)) / (1 + z * z / n)
        half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
        return cls(p, n, max(0.0, middle - half), min(1.0, middle + half))

    def above(self, limit: float) -> bool:
        """Whether it is above a limit by more than the simulation's error, were the limit true."""
        return (
            self.value is not None
            and self.value > limit + ERRORS * math.sqrt(limit * (1 - limit) / self.n) + 1e-12
        )

    def below(self, limit: float) -> bool:
        """Whether it is below, likewise."""
        return (
            self.value is not None
            and self.value < limit - ERRORS * math.sqrt(limit * (1 - limit) / self.n) - 1e-12
        )


def any_of(rows: pl.DataFrame, column: str) -> Share:
    """Share of data sets in which a count is not zero."""
    return Share.of(float((rows[column] > 0).sum()), rows.height)


def coverage(rows: pl.DataFrame) -> tuple[float | None, float | None, int]:
    """Share of intervals that hold the truth, its standard error over data sets, and their number.

    Intervals of one data set hang together, so data sets are the unit.
    """
    counted = rows.filter(pl.col("intervals") > 0)
    total = int(counted["intervals"].sum())
    if not total:
        return None, None, 0
    share = float(counted["covered"].sum()) / total
    off = (counted["covered"] - share * counted["intervals"]).to_numpy()
    sets = counted.height
    # Where every interval covers, the spread says nothing: as if one more data set had missed.
    error = float(np.sqrt((off**2).sum()) / total) if sets > 1 else 0.5
    return share, max(error, 0.5 / max(sets, 1) if share in (0.0, 1.0) else error), total


def judged(
    false: Share,
    elsewhere: Share,
    unmeasurable: float,
    covered: tuple[tuple[float | None, float | None, int], ...],
    power: Share | None,
    states: bool,
    asked: bool,
    least: Share | None = None,
    silenced: tuple[Share, float] | None = None,
) -> tuple[Holds, str]:
    """What is said of a measure in a design, and why.

    false: data sets in which nothing was planted and something was called biased. elsewhere: those in which it was
    called so on an axis where nothing was planted. unmeasurable: share of data sets without a measurable row. covered:
    share, error and number of intervals, of each kind of arm. power: at the stated smallest effect where the row was
    measurable, None where none was planted. silenced: share of data sets in which that effect left its row not
    measurable, and the share without any effect. states: whether a smallest effect is stated. asked: whether it should
    be. least: how often an axis is found, at the worst number of harmed groups.
    """
    wrong, careful = [], []
    if false.above(LARGEST_FALSE):
        wrong.append(f"false in {_percent(false.value)}")
    if elsewhere.above(LARGEST_FALSE):
        wrong.append(f"false on other axes in {_percent(elsewhere.value)}")
    if unmeasurable > MOSTLY:
        return (Holds.FAILS, ", ".join(wrong)) if wrong else (Holds.UNMEASURABLE, "")
    for share, error, _ in covered:
        if share is not None and error is not None:
            if share + ERRORS * error < COVERAGE[0]:
                wrong.append(f"covers {_percent(share)}")
            elif share - ERRORS * error > COVERAGE[1]:
                careful.append(f"covers {_percent(share)}")
    if least is not None and least.below(POWER[0]):
        wrong.append(f"finds an axis in {_percent(least.value)} at one number of harmed groups")
    if asked and not states:
        wrong.append("states no smallest effect")
    if silenced is not None and silenced[0].above(min(1.0, silenced[1] + MADE_SILENT)):
        wrong.append(f"calls its smallest effect not measurable in {_percent(silenced[0].value)}")
    if power is not None and power.below(POWER[0]):
        wrong.append(f"finds its smallest effect in {_percent(power.value)}")
    elif power is not None and power.above(POWER[1]):
        careful.append(f"finds its smallest effect in {_percent(power.value)}")
    if wrong:
        return Holds.FAILS, ", ".join(dict.fromkeys(wrong))
    return (Holds.CAUTIOUS, ", ".join(dict.fromkeys(careful))) if careful else (Holds.HOLDS, "")


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f} %"
