"""What a comparison of groups' changes found."""

from dataclasses import dataclass

import numpy as np

from evenhand.stats.arrays import Codes, Floats


@dataclass(frozen=True)
class GroupChanges:
    """What changed for the groups of one axis, arrays (groups,) in the order of the codes, in the outcome's unit.

    units: prompts. mean: of the changes. estimate: mean minus the mean of the other groups' means; NaN, like all
    limits, for groups of fewer than two units, which no other group is held against either. standard_error, p, low,
    high: of that, two-sided, 95 %; the interval leaves out 0 exactly if p <= .05, lies within -2 .. 2 for shares, and
    is as wide as so many prompts could hide where none moved, each by one response. minimum_detectable: the smallest
    such difference that would be found in 80 % of comparisons at `level`, inf where none would be; where no prompt
    moved, the end of the interval. axis_p: of no difference between groups.
    spread: standard deviation of the groups' true mean changes, noise removed, with its limits (the lower is above 0
    exactly if axis_p <= .05) and smallest visible value (NaN: none). spread_before, spread_after: of the groups' true
    means in each model: a description. obstacle: why nothing could have been found whatever had changed.
    """

    units: Codes
    mean: Floats
    estimate: Floats
    standard_error: Floats
    p: Floats
    low: Floats
    high: Floats
    minimum_detectable: Floats
    degrees_of_freedom: float
    axis_p: float
    spread: float
    spread_low: float
    spread_high: float
    spread_minimum_detectable: float
    spread_before: float
    spread_after: float
    obstacle: str | None = None


def unmeasurable_changes(units: Codes, mean: Floats, obstacle: str) -> GroupChanges:
    """Return the changes of groups of which only the means are known, and why: the obstacle."""
    none, nan = np.full(len(units), np.nan), np.nan
    return GroupChanges(
        units, mean, none, none, none, none, none, none, nan, nan, nan, nan, nan, nan, nan, nan, obstacle
    )
