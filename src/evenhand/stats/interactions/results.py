"""What a test for an interaction returns."""

from dataclasses import dataclass

from evenhand.stats.arrays import Codes, Floats


@dataclass(frozen=True)
class CellDeparture:
    """One contrast: its cells (mirror images included), estimate, interval, and p adjusted for the contrasts."""

    cells: tuple[int, ...]
    estimate: float
    low: float
    high: float
    p: float


@dataclass(frozen=True)
class Gaps:
    """The gap between two groups of one column inside each level of the other, with simultaneous intervals.

    Attributes
    ----------
    levels
        (k,) codes of the other column.
    estimate, low, high
        (k,).
    """

    levels: Codes
    estimate: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True)
class PairTest:
    """The test of one pair of columns.

    p: of the pair, not adjusted for other pairs; None where there is an obstacle. p_cells, p_sum: its two parts.
    """

    p: float | None
    p_cells: float | None = None
    p_sum: float | None = None
    obstacle: str | None = None
