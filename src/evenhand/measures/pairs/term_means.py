"""Means over target terms with equal weight: interval, test and minimum detectable effect by Student's t."""

import numpy as np
import numpy.typing as npt
import polars as pl

from evenhand.stats import Floats, detectable_mean_difference, t_inference

PLANNED_SPREAD = 4.4
"""SD of the true means of terms that is assumed before a run, in points. It is 2.6 and 4.4 in two small models."""
LARGEST_EFFECT = 50.0
"""Largest possible distance from indifference, in points."""


def planned_reach(items: npt.ArrayLike, level: float) -> float:
    """Return the minimum detectable effect (points, 80% power) of a t test over terms.

    Items are modelled as Bernoulli trials, and the true means of terms have the SD PLANNED_SPREAD. The result is
    infinite with fewer than two terms.

    Parameters
    ----------
    items : array_like, shape (k,)
        Number of items of each term.
    level : float
        Significance level.

    Examples
    --------
    >>> round(planned_reach([50] * 10, 0.05 / 4), 1)
    10.7
    """
    n = np.sort(np.asarray(items, dtype=np.float64))
    if len(n) < 2:
        return float("inf")
    spread = float(np.sqrt(PLANNED_SPREAD**2 + LARGEST_EFFECT**2 * float((1 / n).mean())))
    return float(detectable_mean_difference(spread, len(n), alpha=level))


def mean_over_terms(
    terms: pl.DataFrame, *, null: float, bounds: tuple[float, float], step: float, level: float
) -> dict[str, object]:
    """Return estimate, 95% CI, p, minimum detectable effect and obstacle of a mean over terms.

    Parameters
    ----------
    terms : polars.DataFrame
        One row per term with value (0 to 100 points), n (items) and decided (items without ties, or that changed).
    null : float
        50 for preferences, 0 for changes.
    bounds : tuple of float
        Lowest and highest possible mean.
    step : float
        Distance of one decided item from the null, in points.
    level : float
        Significance level.

    Notes
    -----
    Terms are the sampling units, and intervals and tests are Student's t. The minimum detectable effect is that of the
    noncentral t. It uses the SD of the terms or, if this is larger, the SD that Bernoulli trials for the items would
    give, because few terms may agree by chance. If all terms agree exactly, intervals and tests use the SD of Bernoulli
    trials too (for a share with two items added to each side, Agresti & Coull 1998). The result is not measurable if
    the minimum detectable effect is beyond the possible range.
    """
    # results must not depend on the order of rows, not even by rounding
    terms = terms.sort("value", "n", "decided")
    value, n = terms["value"].to_numpy(), terms["n"].to_numpy().astype(np.float64)
    decided = terms["decided"].to_numpy().astype(np.float64)
    k = len(value)
    row: dict[str, object] = {"null": null, "n_units": k, "estimate": float(value.mean()) if k else None}
    if k < 2:
        reason = (
            f"There {'is only 1 target term' if k == 1 else 'are not target terms'}. At least two are needed."
        )
        return row | {"obstacle": reason}
    spread = float(value.var(ddof=1)) / k
    coins = step**2 * float((decided / n**2).sum()) / k**2
    used = spread if np.ptp(value) > 1e-9 else _agreeing(value, n, decided, null)
    reach = float(detectable_mean_difference(np.sqrt(max(used, coins) * k), k, alpha=level))
    inference = t_inference([float(value.mean()) - null], [np.sqrt(used)], [k - 1])
    p = float(inference.p[0])
    obstacle = None
    least = max(planned_reach(n, level), reach if p > level else 0.0)
    if least > LARGEST_EFFECT:
        obstacle = (
            f"With {k} target terms, the minimum detectable effect is {least:.0f} points, which is more than the "
            "largest "
            f"possible effect of {LARGEST_EFFECT:.0f} points."
        )
    return row | {
        "low": max(null + float(inference.low[0]), bounds[0]),
        "high": min(null + float(inference.high[0]), bounds[1]),
        "p": p,
        "minimum_detectable": reach if obstacle is None else None,
        "obstacle": obstacle,
    }


def _agreeing(value: Floats, n: Floats, decided: Floats, null: float) -> float:
    """Return the variance of the mean if all terms have the same value, as that of a share of their items.

    For changes (null 0), it is the share of items that changed. `value`, `n` and `decided` have the shape (k,).
    """
    items = float(n.sum())
    mean = float(value[0]) / 100
    if null == 0:
        changed = (float(decided.sum()) + 2) / (items + 4)
        variance = changed - (mean * items / (items + 4)) ** 2
    else:
        share = (mean * items + 2) / (items + 4)
        variance = share * (1 - share)
    return float(100**2 * variance * (1 / n).sum() / len(n) ** 2)
