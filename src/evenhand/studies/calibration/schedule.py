"""Plan the simulations: the arms of each design, in blocks that are written completely or not at all."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from evenhand.studies.calibration.designs import Design, Judged, Plant
from evenhand.studies.calibration.options import CalibrationOptions

BLOCKS = 8
"""Into which the replications of an arm are cut, at least: cores share the work."""
LARGEST_BLOCK = 25
"""Replications of a block, at most: so few are lost by a kill, however many are asked for."""
NULL_SETS = 400
"""Data sets without bias of a design in a full study, at least: so that the upper confidence limit of a false-positive
rate of 5% is below 8%."""
REPEATS = 6
"""Tables that are moved about for invariance."""
Kind = Literal["null", "dose", "size", "power", "moves", "halves"]


@dataclass(frozen=True)
class Arm:
    """One planted effect in one design.

    Attributes
    ----------
    kind
        "null" (no effect), "dose" (several groups harmed), "size" (harm of a given size in one group), "power" (a
        multiple of the stated MDE), "moves" (invariance checks) or "halves" (two halves of the prompts).
    measure
        The measure whose MDE is used.
    factor
        Multiple of the MDE.
    """

    design: str
    kind: Kind
    plant: Plant
    replications: int
    measure: str = ""
    factor: float = 0.0

    @property
    def name(self) -> str:
        """Return a unique name within the design. It seeds the generator, so it does not contain the planted effect."""
        if self.kind == "power":
            return f"power {self.measure} x {self.factor:g}"
        if self.kind in ("dose", "size"):
            return f"{self.kind} {self.plant.harmed} {self.plant.effect:g}"
        return self.kind

    def blocks(self) -> Iterator[tuple[int, range]]:
        """Yield (number, replications) of each block."""
        step = min(-(-self.replications // BLOCKS), LARGEST_BLOCK)
        for number, first in enumerate(range(0, self.replications, step)):
            yield number, range(first, min(first + step, self.replications))


def first_arms(designs: Sequence[Design], options: CalibrationOptions) -> list[Arm]:
    """Return the arms that need no earlier result."""
    arms = []
    for design in designs:
        count = replications(design, options)
        if not count:
            continue
        null = max(count, NULL_SETS) if options.size == "full" and options.replications is None else count
        arms.append(Arm(design.name, "null", Plant(), null))
        fewer = max(2, count // 2)
        arms += [
            Arm(design.name, "dose", Plant("first", design.dose_effect, harmed), fewer)
            for harmed in design.doses
        ]
        arms += [Arm(design.name, "size", Plant("one", effect, 1), fewer) for effect in design.sizes]
        if design.moves:
            arms.append(Arm(design.name, "moves", Plant("half", design.heterogeneous), min(count, REPEATS)))
        if design.splits is not None:
            plant = Plant("half", design.heterogeneous)
            arms.append(Arm(design.name, "halves", plant, max(2, count // 5)))
    return arms


def power_arms(design: Design, judged: Judged, stated: float, options: CalibrationOptions) -> list[Arm]:
    """Return the arms that plant multiples of the minimum detectable effect that the measure stated."""
    count = replications(design, options)
    factors = design.factors if options.size == "full" else (1.0,)
    return [
        Arm(
            design.name,
            "power",
            Plant(judged.pattern, min(factor * stated, judged.largest), 1),
            max(2, count // 2),
            judged.measure,
            factor,
        )
        for factor in factors
    ]


def replications(design: Design, options: CalibrationOptions) -> int:
    """Return the number of data sets that the arms of a design are planned with; 0 leaves the design out.

    The null arm has at least `NULL_SETS` in a full study. Other arms have about half of this number.
    """
    own = design.quick if options.size == "quick" else design.full
    return own if not own or options.replications is None else options.replications
