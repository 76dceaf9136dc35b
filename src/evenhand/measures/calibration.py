"""Reliability of the verdicts of a measure in simulations: the summary that `evenhand calibrate` writes.

`make calibrate` writes the numbers to calibration.json in this folder.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from evenhand.schema import checked_kinds, read_json

SUMMARY = Path(__file__).with_name("calibration.json")
HINT = "It belongs to the package: install evenhand again, or recreate it with `make calibrate`."


@dataclass(frozen=True)
class Calibrated:
    """Reliability of a measure in simulations: false-positive rate, coverage and power.

    Result of `calibrated`. A design is one kind of simulated data set, for example many small groups.

    Attributes
    ----------
    measure : str
        Name of the measure.
    designs : int
        Number of designs in which it gives verdicts. Designs that violate its assumptions do not count.
    failing : tuple of str
        Designs in which it misses a requirement on false-positive rate, coverage or power.
    undecided : tuple of str
        Designs in which more simulated data sets are needed to decide whether it misses one.
    why : str
        The missed requirement in the first failing design.
    unmeasurable : int
        Number of other designs, in which its verdict is mostly "not measurable".
    n : int
        Number of data sets without bias, in all `designs` together.
    false : float or None
        False-positive rate: share of these data sets (0 to 1) in which the measure reports a bias.
    worst : float or None
        False-positive rate in the worst design, `worst_design`, which has `worst_n` data sets.
    coverage : tuple of float or None
        Lowest and highest coverage of the 95% intervals in any design (0 to 1). None if not tried.
    power : tuple of float or None
        Lowest and highest power at the stated minimum detectable effect in any design (0 to 1). None if not tried.
    """

    measure: str
    designs: int
    failing: tuple[str, ...]
    unmeasurable: int
    n: int
    false: float | None
    worst: float | None
    coverage: tuple[float, float] | None = None
    power: tuple[float, float] | None = None
    why: str = ""
    """The requirement that the first failing design misses, in words."""
    undecided: tuple[str, ...] = ()
    worst_design: str = ""
    worst_n: int = 0

    @property
    def holds(self) -> bool:
        """Return True if no design is failing or undecided, and there is at least one design."""
        return not self.failing and not self.undecided and self.designs > 0

    @property
    def sentence(self) -> str:
        """Return the sentence that reports show: false-positive rates, or the designs in which the measure fails.

        Examples
        --------
        >>> print(Calibrated("gap", 40, (), 2, 9000, 0.031, 0.055, worst_design="rare events", worst_n=400).sentence)
        In simulations without bias, the false-positive rate was 5.5% in the worst of 40 designs (400 data sets) and
        3.1% over all 9,000 data sets.
        >>> Calibrated("gap", 4, ("rare events",), 0, 900, 0.09, 0.31, why="false-positive rate 31.0%").sentence
        'In simulations, this measure fails in 1 of 4 designs (rare events: false-positive rate 31.0%).'
        """
        if not self.designs:
            return "In every simulated design this measure answers “not measurable”."
        if self.failing:
            example = "" if len(self.failing) == 1 else "for example "
            reason = f"{example}{self.failing[0]}{f': {self.why}' if self.why else ''}"
            return f"In simulations, this measure fails in {len(self.failing)} of {self.designs} designs ({reason})."
        every = f"{100 * (self.false or 0.0):.1f}%"
        if self.designs == 1:
            text = f"In simulations without bias, the false-positive rate was {every} of {self.n:,} data sets"
        else:
            where = f" ({self.worst_n:,} data sets)" if self.worst_n else ""
            text = (
                f"In simulations without bias, the false-positive rate was {100 * (self.worst or 0.0):.1f}% in the "
                f"worst of {self.designs} designs{where} and {every} over all {self.n:,} data sets"
            )
        if self.undecided:
            need = "needs" if len(self.undecided) == 1 else "need"
            text += (
                f"; {len(self.undecided)} of these designs {need} more data sets to confirm the error rates"
            )
        return f"{text}."


SIMULATED_APART = {
    "interaction": Calibrated(
        "interaction", 15, (), 0, 6000, 223 / 6000, 0.0625, (0.9375, 0.985), (0.69, 0.92),
        undecided=("2 x 2, 60 people", "2 x 2, crossed, 40 people"), worst_design="2 x 2, 60 people", worst_n=400,
    )
}  # fmt: skip
"""Results of measures with a separate simulation script (`perf/interactions.py`).

`evenhand calibrate` has designs for them too, and its stored results take precedence.
"""


@checked_kinds
def calibrated(measure: str) -> Calibrated | None:
    """Return the reliability of a measure in simulations: false-positive rate, coverage and power.

    Use it to see how far the verdicts of a measure can be trusted. Results are stored in the package; nothing is
    simulated.

    Parameters
    ----------
    measure : str
        Name of the measure, for example "disparity".

    Returns
    -------
    Calibrated or None
        Stored results of simulations. None if there are none for this name, because the measure gives no verdicts
        or is new.

    Examples
    --------
    >>> found = calibrated("group_difference")
    >>> found.designs > 0, found.false < 0.05, calibrated("text_quality")
    (True, True, None)
    """
    return _find(measure)


def calibration_summary() -> Mapping[str, Any]:
    """Return the stored results of all simulations that check evenhand's measures.

    Use it to build tables of error rates. `evenhand calibrate` writes the results; for one measure, use `calibrated`.

    Returns
    -------
    mapping
        Lists of dictionaries, with options and versions. Empty if the file does not exist.
        - ``measures``: error rates by measure.
        - ``designs``: by measure and kind of simulated data set.
        - ``doses``: by size of the bias.
        - ``moves``: changes that should not matter, such as another order of rows.
        - ``halves``: agreement of two halves of a data set.

    Raises
    ------
    DataError
        The file cannot be read.
    """
    return dict(_read_summary())


@cache
def _read_summary() -> Mapping[str, Any]:
    """Return the content of the file of results, which is read once per process."""
    content = read_json(SUMMARY, HINT) if SUMMARY.is_file() else {}
    return content if isinstance(content, dict) else {}


@cache
def _find(measure: str) -> Calibrated | None:
    rows = {row["measure"]: row for row in _read_summary().get("measures", [])}
    return _read_result(rows[measure]) if measure in rows else SIMULATED_APART.get(measure)


def _read_result(row: Mapping[str, Any]) -> Calibrated:
    def ends(name: str) -> tuple[float, float] | None:
        low, high = row[f"{name}_low"], row[f"{name}_high"]
        return None if low is None or high is None else (low, high)

    return Calibrated(
        row["measure"],
        row["designs"],
        tuple(row["fails_in"]),
        row["unmeasurable"],
        row["n"],
        row["false"],
        row["worst_false"],
        ends("coverage"),
        ends("power"),
        _reason(row["measure"], row["fails_in"]),
        _undecided_designs(row["measure"]),
        row.get("worst_design") or "",
        row.get("worst_n") or 0,
    )


def _undecided_designs(measure: str) -> tuple[str, ...]:
    """Return the names of the designs in which a measure is undecided."""
    return tuple(
        row["design"]
        for row in _read_summary().get("designs", [])
        if (row["measure"], row["role"], row["verdict"]) == (measure, "standard", "undecided")
    )


def _reason(measure: str, failing: Sequence[str]) -> str:
    """Return the reason why a measure fails, in the first design in which it does."""
    designs = _read_summary().get("designs", [])
    first = (
        row["why"] for row in designs if failing and (row["measure"], row["design"]) == (measure, failing[0])
    )
    return str(next(first, ""))
