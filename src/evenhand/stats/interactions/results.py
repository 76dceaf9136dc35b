"""Result types of the interaction test."""

from dataclasses import dataclass

from evenhand.stats.arrays import Codes, Floats


@dataclass(frozen=True)
class CellDeparture:
    """Departure of one cell, or of cells that mirror each other, with interval and p adjusted for all departures.

    ``cells`` are positions in `PairTable.cells`. ``estimate`` is the mean of the first of them minus the mean that the
    other cells predict, in the unit of the values.
    """

    cells: tuple[int, ...]
    estimate: float
    low: float
    high: float
    p: float


@dataclass(frozen=True)
class Gaps:
    """Gap between two groups of one column within each level of the other column, with simultaneous intervals.

    Attributes
    ----------
    levels : numpy.ndarray of int, shape (k,)
        Codes of the other column.
    estimate, low, high : numpy.ndarray, shape (k,)
        Gaps and bounds, in the unit of the values.
    """

    levels: Codes
    estimate: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True)
class PairTest:
    """Result of the interaction test of one pair of columns.

    ``p`` is not adjusted for other pairs of columns; it is None with an obstacle. It is computed from two p-values:
    ``p_cells`` is that of the largest departure of a cell, and ``p_sum`` that of the sum across all cells.
    """

    p: float | None
    p_cells: float | None = None
    p_sum: float | None = None
    obstacle: str | None = None
