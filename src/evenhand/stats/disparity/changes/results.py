"""Result type of the comparison of groups' changes."""

from dataclasses import dataclass

import numpy as np

from evenhand.stats.arrays import Codes, Floats


@dataclass(frozen=True)
class GroupChanges:
    """Changes of the groups of one axis between two models, in the unit of the outcome. Result of `group_changes`.

    Arrays have the shape (groups,), in the order of the codes.

    Attributes
    ----------
    units : numpy.ndarray of int
        Number of prompts of each group.
    mean : numpy.ndarray
        Mean change of each group.
    estimate, standard_error, p, low, high : numpy.ndarray
        Mean change minus the mean of the other groups' mean changes, with two-sided p and 95% CI. The CI excludes 0
        exactly if p <= 0.05. If no prompt changed, it allows for undetected changes of one response. NaN for groups
        with fewer than two prompts, which are also left out of the means of the others.
    minimum_detectable : numpy.ndarray
        Estimate that is detected with 80% power at `level`; infinite if none is.
    axis_p : float
        p of "no group changed differently".
    spread : float
        SD of the groups' true mean changes, with CI and smallest detectable value (NaN: none). The lower bound is above
        0 exactly if axis_p <= 0.05.
    spread_before, spread_after : float
        SD of the groups' true means with each model; a description without a test.
    obstacle : str or None
        Reason why no change could be detected.
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
    """Return a result with only the mean changes of groups, and the obstacle that prevents a test."""
    none, nan = np.full(len(units), np.nan), np.nan
    return GroupChanges(
        units, mean, none, none, none, none, none, none, nan, nan, nan, nan, nan, nan, nan, nan, obstacle
    )
