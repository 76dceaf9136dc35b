"""The evidence of a gate: the verdict of each axis, and the effect and the MDE of each group."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil

from evenhand.reports import known
from evenhand.stats import Harmful

STANDING, CHANGE, NEW, LEVEL, REFUSALS, TEST = "standing", "change", "new", "level", "refusals", "test"
"""Questions that evidence answers.

They are bias of one model, change of bias, new bias, change of the level, change of refusals, and tests of the
consistency protocol.
"""
FOUND, NOT_FOUND, BLANK = "found", "not found", "not measurable"


@dataclass(frozen=True)
class Part:
    """One group of an axis, or an axis without groups, in the unit of its evidence.

    Attributes
    ----------
    found : bool
        True if the verdict names the group on the harmful side (on either side if the harmful side is unknown).
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
        """Return the exponent k in the required number of units, which is proportional to (1 / effect) ** k.

        k is 1 if nothing changed, otherwise 2.
        """
        return 1 if self.estimate == 0 and self.smallest == self.high else 2

    @property
    def shown(self) -> float:
        """Return the distance of the CI from the null on the harmful side; 0 if the CI contains the null.

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
        """Return the largest harmful distance from the null that the CI includes; infinite without a CI.

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
    """Evidence on one axis of one benchmark.

    Attributes
    ----------
    about
        The question that it answers, such as STANDING or CHANGE.
    benchmark, axis
        Where it applies. axis is None for the whole benchmark.
    verdict
        FOUND, NOT_FOUND or BLANK (not measurable).
    told
        Sentence of the report, or the reason why it is not measurable.
    unit
        Unit of the parts; None if they have no size.
    parts
        Groups of the axis, or the axis itself, with their estimates.
    model
        Name of the later model; None unless several are compared with the first.
    outcome
        What was measured; None if the benchmark has one outcome.
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
        """Return the required and the existing number of prompts for an effect of this size; None if unknown.

        Both are those of the group that requires the most prompts.

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


def join_verdicts(verdicts: Iterable[str]) -> str:
    """Return the joint verdict of several: FOUND if any is FOUND, BLANK if all are BLANK, otherwise NOT_FOUND."""
    there = set(verdicts)
    return FOUND if FOUND in there else NOT_FOUND if NOT_FOUND in there else BLANK
