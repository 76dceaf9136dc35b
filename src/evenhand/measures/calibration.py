"""What is known of a measure's verdicts from data of known truth: the summary that `evenhand calibrate` wrote.

The figures lie in calibration.json beside this file, written by `make calibrate`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from evenhand.schema import read_json

SUMMARY = Path(__file__).with_name("calibration.json")
HINT = "It belongs to the package: install evenhand again, or write it anew with `make calibrate`."


@dataclass(frozen=True)
class Calibrated:
    """How a measure did.

    designs: in which it gave verdicts; failing: those in which it does not hold, by name; unmeasurable: further designs
    in which it rightly says "not measurable". n: data sets without any difference; false: share of them with a false
    verdict; worst: the largest such share in one design. coverage, power: lowest and highest of any design, of the 95 %
    intervals and of finding the stated smallest effect; None where neither was tried.
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
    """What was wrong in the first failing design."""

    @property
    def holds(self) -> bool:
        """Whether it holds in every design in which it gives verdicts."""
        return not self.failing and self.designs > 0

    @property
    def sentence(self) -> str:
        """What stands beside its verdicts.

        >>> Calibrated("gap", 40, (), 2, 9000, 0.031, 0.055).sentence
        'False in 3.1 % of 9,000 data sets (40 calibrated designs).'
        >>> Calibrated("gap", 4, ("rare events",), 0, 900, 0.09, 0.31, why="false in 31.0 %").sentence
        'Fails its calibration in 1 of 4 designs (rare events: false in 31.0 %).'
        """
        if not self.designs:
            return "Not calibrated: in every design tried it answers “not measurable”."
        if self.failing:
            such = "" if len(self.failing) == 1 else "such as "
            told = f" ({such}{self.failing[0]}: {self.why})" if self.why else f" ({such}{self.failing[0]})"
            return f"Fails its calibration in {len(self.failing)} of {self.designs} designs{told}."
        several = f"{self.designs} calibrated designs" if self.designs > 1 else "one calibrated design"
        return f"False in {100 * (self.false or 0.0):.1f} % of {self.n:,} data sets ({several})."


def calibrated(measure: str) -> Calibrated | None:
    """How a measure did when it was calibrated; None for one that never was, because it gives no verdicts or is new."""
    row = _rows().get(measure)
    return None if row is None else _of(row)


def calibration_summary() -> Mapping[str, Any]:
    """The whole summary: measures, designs, doses, moves, halves, and what wrote it. Empty where there is none."""
    content = read_json(SUMMARY, HINT) if SUMMARY.is_file() else {}
    return content if isinstance(content, dict) else {}


@cache
def _rows() -> dict[str, Mapping[str, Any]]:
    return {row["measure"]: row for row in calibration_summary().get("measures", [])}


def _of(row: Mapping[str, Any]) -> Calibrated:
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
    )


def _reason(measure: str, failing: Sequence[str]) -> str:
    """Why a measure does not hold in the first design in which it does not."""
    designs = calibration_summary().get("designs", [])
    first = (
        row["why"] for row in designs if failing and (row["measure"], row["design"]) == (measure, failing[0])
    )
    return str(next(first, ""))
