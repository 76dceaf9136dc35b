"""The evidence of a gate: the verdict of each axis, and the effect and the MDE of each group."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil

from evenhand.reports import known
from evenhand.stats import Harmful

STANDING, CHANGE, NEW, LEVEL, REFUSALS, TEST = "standing", "change", "new", "level", "refusals", "test"
"""The question that evidence answers: bias of one model, change, new bias, level, refusals, the protocol."""
FOUND, NOT_FOUND, BLANK = "found", "not found", "not measurable"


@dataclass(frozen=True)
class Part:
    """One group of an axis, or an axis without groups, in the unit of its evidence.

    Attributes
    ----------
    found : bool
        True if the verdict names it on the harmful side (on either side if that is unknown).
    low, high : float or None
        Bounds of the 95% CI.
    null : float
        The value of an unbiased model or of no change.
    harmful : str
        The harmful side of the null.
    smallest : float or None
        The minimum detectable effect; None if unknown.
    units : int or None
        Number of prompts or pairs.
    """

    name: str
    found: bool
    estimate: float | None
    low: float | None
    high: float | None
    null: float = 0.0
    harmful: Harmful = "either"
    smallest: float | None = None
    units: int | None = None

    @property
    def shrinkage(self) -> int:
        """Return the exponent of the inverse effect in the required number of units: 1 without change."""
        return 1 if self.estimate == 0 and self.smallest == self.high else 2

    @property
    def shown(self) -> float:
        """Return the distance between the null and the whole interval; 0 if the interval contains the null.

        >>> Part("women", True, 12.0, 7.0, 17.0, harmful="above").shown
        7.0
        >>> Part("women", True, 12.0, 7.0, 17.0, harmful="below").shown
        0.0
        """
        if not (known(self.low) and known(self.high)):
            return 0.0
        above, below = self.low - self.null, self.null - self.high  # type: ignore[operator]
        sides = {"above": (above,), "below": (below,), "either": (above, below)}
        return max(0.0, *sides[self.harmful])

    @property
    def possible(self) -> float:
        """Return the largest harm that the interval includes; infinite without an interval.

        >>> Part("women", False, 1.0, -4.0, 6.0, harmful="above").possible
        6.0
        """
        if not (known(self.low) and known(self.high)):
            return float("inf")
        above, below = self.high - self.null, self.null - self.low  # type: ignore[operator]
        sides = {"above": (above,), "below": (below,), "either": (above, below)}
        return max(sides[self.harmful])


@dataclass(frozen=True)
class Evidence:
    """One axis of one benchmark, or the whole benchmark if axis is None.

    ``about`` is the question. ``verdict`` is FOUND, NOT_FOUND or BLANK. ``told`` is a sentence of the report, or why it
    is blank. ``unit`` is that of the parts. ``model`` is the compared model, if there are several. ``outcome`` is what
    was measured, if a benchmark has several outcomes.
    """

    about: str
    benchmark: str
    axis: str | None
    verdict: str
    told: str
    unit: str | None = None
    parts: tuple[Part, ...] = ()
    model: str | None = None
    outcome: str | None = None

    @property
    def smallest(self) -> float | None:
        """Return the largest minimum detectable effect of any group; None if it is unknown for a group."""
        sizes = [part.smallest for part in self.parts]
        return max(sizes) if sizes and all(map(known, sizes)) else None  # type: ignore[type-var]

    def units_needed(self, size: float) -> tuple[int, int] | None:
        """Return the prompts that the neediest group requires for an effect of this size, and has; None if unknown.

        Minimum detectable effects shrink with about the square root of the number of prompts. If nothing changed (the
        effect is then the bound of an interval around 0), they shrink with about the number itself.

        >>> part = Part("women", False, 0.0, -9.0, 9.0, smallest=20.0, units=30)
        >>> Evidence(STANDING, "regard", "gender", NOT_FOUND, "", "points", (part,)).units_needed(10.0)
        (120, 30)
        """
        if self.smallest is None:
            return None
        pairs = [
            (ceil(part.units * (part.smallest / size) ** part.shrinkage), part.units)  # type: ignore[operator]
            for part in self.parts
            if part.units
        ]
        return max(pairs, default=None)


def merged(verdicts: Iterable[str]) -> str:
    """Return the joint verdict of several: found if one is found, blank only if all are."""
    there = set(verdicts)
    return FOUND if FOUND in there else NOT_FOUND if NOT_FOUND in there else BLANK
