"""Decide on which measures replies to women's and men's names differ, corrected for the number of measures."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.special import stdtrit

from evenhand.stats import POWER, holm

AXES = 2
"""Axes of the benchmark `names` (gender, and gender and race). Its own effects are for tests at alpha / 2."""
MEASURES = 4
"""Measures that the sentences about the original model compare: inferred gender, words, occupations, offence."""
FREEDOMS = np.geomspace(1, 1e6, 4_000)
"""Degrees of freedom among which `rescale_mde` searches."""


def holm_q(p: Mapping[str, float | None]) -> dict[str, float]:
    """Return q of each measure with a p: Holm's method over these measures.

    >>> holm_q({"words": 0.02, "occupations": 0.03, "offensive": None})
    {'words': 0.04, 'occupations': 0.04}
    """
    tested = {measure: value for measure, value in p.items() if value is not None}
    return dict(zip(tested, map(float, holm(list(tested.values()))), strict=True)) if tested else {}


def rescale_mde(level: float, row: Mapping[str, Any], stated_level: float) -> float | None:
    """Return the minimum detectable effect of a t test at another level than that of the row.

    The half width of the 95% CI and the minimum detectable effect are two multiples of the same standard error, with
    quantiles of t. Their ratio gives the degrees of freedom. If several fit, the smallest is used, because it gives the
    largest effect.

    Parameters
    ----------
    level
        Significance level of the test for which the effect has 80% power.
    row
        The 95% CI and `minimum_detectable`.
    stated_level
        Level of `minimum_detectable`.

    Examples
    --------
    >>> from scipy import stats
    >>> t = stats.t(38)
    >>> row = {"low": -t.ppf(0.975), "high": t.ppf(0.975), "minimum_detectable": t.ppf(0.9875) + t.ppf(0.8)}
    >>> round(rescale_mde(0.0125, row, 0.025), 2), round(float(t.ppf(0.99375) + t.ppf(0.8)), 2)
    (3.47, 3.47)
    """
    low, high, smallest = (row[name] for name in ("low", "high", "minimum_detectable"))
    if low is None or high is None or smallest is None or high <= low:
        return None if smallest is None else float(smallest)
    half = (high - low) / 2
    reach = stdtrit(FREEDOMS, POWER)
    of_half = stdtrit(FREEDOMS, 0.975)
    ratios = (stdtrit(FREEDOMS, 1 - stated_level / 2) + reach) / of_half
    place = int(np.argmin(np.round(np.abs(ratios - smallest / half), 6)))
    return float(half * (stdtrit(FREEDOMS[place], 1 - level / 2) + reach[place]) / of_half[place])


def mde_factor(level: float, stated_level: float, names: int | None) -> float:
    """Return the factor between the minimum detectable effects of a test at two levels, by Student's t.

    Parameters
    ----------
    level, stated_level
        Level of the effect that is wanted, and level of the effect that is known.
    names
        Number of names of one gender; the degrees of freedom are twice this number, minus 2.

    Examples
    --------
    >>> round(mde_factor(0.0125, 0.025, 20), 2), round(mde_factor(0.0125, 0.025, 4), 2)
    (1.09, 1.14)
    """
    freedom = max(1, 2 * (names or 2) - 2)
    wanted, known = (stdtrit(freedom, 1 - one / 2) + stdtrit(freedom, POWER) for one in (level, stated_level))
    return float(wanted / known)
