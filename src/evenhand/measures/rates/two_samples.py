"""Compare groups in the cells of two samples, such as templates and nouns, whose interactions with groups are noise.

If a template is unfavourable to some groups, it is so with every noun, and vice versa. Cells are therefore not
independent units. Permutations within cells would attribute these interactions to the groups, however many levels the
other sample has.
"""

from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from scipy.special import stdtr, stdtrit

from evenhand.measures.styles import crossed_prompts
from evenhand.stats import Flags, Floats, reference_contrasts, simes
from evenhand.stats.contrasts import crossed_groups
from evenhand.stats.disparity import (
    Comparison,
    Differences,
    LargestGap,
    Spread,
    tukey_quantile,
    with_common_level,
)

APART = "The groups do not occur in the same {inside}, so group and {inside} effects cannot be separated."
FLAT = "All groups have the same rate in every cell of {inside}, so there is no variation to test."
_LEVEL = 0.05


@dataclass(frozen=True)
class TwoSamples:
    """A comparison of groups with the error of two samples.

    ``means`` (known,) are deviations of the groups from the mean, and NaN if a group lacks most cells. ``noise`` is the
    error variance of one of them, with ``freedom`` degrees of freedom.
    """

    comparison: Comparison
    means: Floats
    noise: float
    freedom: float

    def pairs(self, contrasts: Floats) -> Differences:
        """Return the differences of pairs of groups; `contrasts` (pairs, known) contain 1, -1 and 0."""
        return self.differences(contrasts)

    def differences(self, contrasts: Floats) -> Differences:
        """Return the differences of these contrasts (contrasts, known), which sum to 0."""
        known = np.nan_to_num(self.means)
        absent = np.abs(contrasts) @ np.isnan(self.means) > 0
        estimate = np.where(absent, np.nan, contrasts @ known)
        error = np.sqrt(np.maximum(np.square(contrasts).sum(axis=1), 1e-12) * self.noise)
        half = float(stdtrit(self.freedom, 1 - _LEVEL / 2)) * error
        p = np.minimum(1.0, 2 * stdtr(self.freedom, -np.abs(estimate) / error))
        return Differences(estimate, estimate - half, estimate + half, p)


def over_two_samples(
    found: Comparison, rows: pl.DataFrame, names: list[str], strata: tuple[str, str], level: float
) -> TwoSamples | Comparison:
    """Return the comparison with test and intervals that generalise to other levels of both samples.

    Parameters
    ----------
    found : Comparison
        Comparison within cells.
    rows : polars.DataFrame
        Classified rows of the axis with group, negative and the strata.
    names : list of str
        Names of the known groups.
    level : float
        Significance level of the axis.

    Returns
    -------
    TwoSamples or Comparison
        A Comparison with an obstacle if the groups do not occur in the same cells.

    Notes
    -----
    p of the axis is twice the smaller of F's p and Simes' p over the groups. The lower bound of the spread that a
    single group implies is the bound of its difference divided by the square root of the number of groups. The method
    is `evenhand.stats.contrasts.crossed_groups`.
    """
    first, second = strata
    inside = " and ".join(name.replace("_", " ") for name in strata)
    bare = replace(found, differences=None, spread=None, gap=None, smallest=None)
    cells = rows.select(
        pl.col("negative").cast(pl.Float64),
        descriptor="group",
        template=pl.col(first).cast(pl.String),
        noun=pl.col(second).cast(pl.String),
    )
    prompts = crossed_prompts(cells, ["negative"])
    groups, templates, nouns = prompts.shape
    if groups < 2 or templates * nouns < 2:
        return replace(bare, obstacle=APART.format(inside=inside))
    beside = crossed_groups(prompts.values(["negative"]))
    axis = beside.axis
    if beside.standard_error <= 0:
        return replace(bare, obstacle=FLAT.format(inside=inside))
    there = {name: place for place, name in enumerate(prompts.descriptors["descriptor"].to_list())}
    place = np.array([there.get(name, -1) for name in names])
    met = place >= 0

    def known(values: Floats) -> Floats:
        return np.where(met, values[place], np.nan)

    means = known(beside.difference * (groups - 1) / groups)
    estimate, low, high = (known(part) for part in (beside.difference, beside.low, beside.high))
    wide = tukey_quantile(groups, int(max(axis.noise_freedom, 1))) * np.sqrt(axis.noise)
    best, worst = int(np.nanargmin(means)), int(np.nanargmax(means))
    gap = float(means[worst] - means[best])
    worse = np.nan_to_num(means - means[best], nan=0.0) > wide
    # sums of squares have little power for one group of a hundred: half of the level is for single groups
    whole = min(1.0, 2 * min(axis.p, simes(beside.p)))
    least = 0.0
    if whole <= _LEVEL:
        facing = np.where(beside.low > 0, beside.low, np.where(beside.high < 0, -beside.high, 0.0))
        least = max(float(np.sqrt(axis.low)), float(facing.max()) / np.sqrt(groups))
    spread = float(np.sqrt(max(axis.estimate, 0.0)))
    comparison = replace(
        found,
        obstacle=None,
        differences=Differences(estimate, low, high, known(beside.p)),
        axis_p=whole,
        spread=Spread(max(spread, least), least, max(float(np.sqrt(axis.high)), least)),
        gap=LargestGap(worst, best, gap, gap - wide, gap + wide, worse),
        smallest=np.where(met, beside.detectable(level / 2), np.nan),
        smallest_spread=float(np.sqrt(axis.detectable(level / 2))),
        coins=False,
    )
    two = TwoSamples(comparison, means, axis.noise, axis.noise_freedom)

    def compare(reference: Flags) -> Differences:
        return two.differences(reference_contrasts(reference & met))

    return replace(two, comparison=with_common_level(comparison, compare, level))
