"""Means over target terms, each of which counts equally: interval, test and smallest effect by Student's t."""

import numpy as np
import numpy.typing as npt
import polars as pl

from evenhand.stats import Floats, detectable_mean_difference, t_inference

PLANNED_SPREAD = 4.4
"""SD of the true means of terms that is assumed before a run, in points. It is 2.6 and 4.4 in two small models."""
LARGEST_EFFECT = 50.0
"""Points from indifference to always."""


def planned_reach(items: npt.ArrayLike, level: float) -> float:
    """Return the minimum detectable effect (points, 80% power) of a t-test over terms.

    Items are modelled as Bernoulli trials, and the true means of terms have the SD PLANNED_SPREAD. The result is
    infinite with fewer than two terms.

    Parameters
    ----------
    items
        (k,), number of items of each term.
    level
        The p to reach.

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
    """Estimate, 95 % interval, p, smallest effect and obstacle of a mean over terms.

    terms: one row per term with value (points of 100), n (items) and decided (items that are no tie, or that changed).
    null: 50 for preferences, 0 for changes. bounds: of what is possible. step: how far one decided item lies from the
    null. level: the p to reach.

    The terms are what was sampled: Student's t with one less than there are. The smallest effect is that of the
    noncentral t at `level`, with the terms' own spread or, where that is larger, the spread that items tossed as coins
    give, for few terms may agree by chance. Where all terms agree exactly, the coins' spread (of a share with two
    items added to each side, Agresti & Coull 1998) stands in for theirs in test and interval, too. Nothing is
    measurable where `planned_reach` lies beyond what there can be, or where the terms' own spread leaves no more.
    """
    terms = terms.sort("value", "n", "decided")  # the order of rows changes not even the last digit
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
    """Return the variance of the mean of terms that all have the same value, as that of a share of their items.

    For changes (null 0), this is the share of items that changed.

    Parameters
    ----------
    value, n, decided
        (k,), for each term.
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
