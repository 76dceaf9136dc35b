"""Krippendorff's alpha with a confidence interval that generalises to other annotators and items."""

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from evenhand.schema import UsageError
from evenhand.stats.arrays import Codes, Floats
from evenhand.stats.intervals import Interval
from evenhand.stats.krippendorff import MeasurementLevel, alpha_estimate, krippendorff_alpha
from evenhand.stats.votes.estimates import LEAST_LEVELS
from evenhand.stats.votes.jackknife import two_way_jackknife


def crossed_alpha(
    values: npt.ArrayLike,
    items: npt.ArrayLike,
    persons: npt.ArrayLike,
    measurement: MeasurementLevel = "nominal",
    *,
    level: float = 0.95,
    seed: int = 0,
) -> Interval:
    """Return Krippendorff's alpha with a CI that generalises to other persons and items.

    Parameters
    ----------
    values : array_like, shape (n,)
        Number of each vote (judgement).
    items, persons : array_like, shape (n,)
        Labels of the judged item and of the person.
    measurement : {"nominal", "ordinal", "interval"}, default "nominal"
        Level of measurement.
    level : float, default 0.95
        Confidence level.
    seed : int, default 0
        Random seed.

    Returns
    -------
    Interval
        Alpha with CI, at least as wide as that of `krippendorff_alpha`, which generalises to items only. It is NaN with
        too few persons, or if `krippendorff_alpha` gives none.

    Notes
    -----
    The CI is from a two-way jackknife of log(1 - alpha). The jackknife also removes the bias with few persons: without
    it, alpha is 0.08 too low with 5 persons.

    References
    ----------
    - Krippendorff 2019, chapter 12. Owen 2007; Cameron, Gelbach & Miller 2011: two-way jackknife.

    >>> rng = np.random.default_rng(0)
    >>> items, persons = np.repeat(np.arange(60), 3), np.arange(180) % 20
    >>> votes = rng.random(180) < 1 / (1 + np.exp(-2 * rng.normal(size=60)[items]))
    >>> found = crossed_alpha(votes, items, persons)
    >>> bool(0 < found.low < found.estimate < found.high < 1)
    True
    """
    y = np.asarray(values, dtype=np.float64)
    columns, people = (
        np.unique(np.asarray(each), return_inverse=True)[1].reshape(-1) for each in (items, persons)
    )
    if not len(y) == len(columns) == len(people):
        raise UsageError(
            f"Values, items and people must have equal lengths, got {len(y)} values, {len(columns)} items and "
            f"{len(people)} people.",
            "Give one item and one person for each value.",
        )
    table, rows = _table(y, columns)
    found = krippendorff_alpha(table, measurement, level=level, seed=seed)
    nan = float("nan")
    if np.isnan(found.low) or people.max(initial=-1) + 1 < LEAST_LEVELS:
        return Interval(found.estimate, nan, nan, nan, found.clusters, found.n)
    if found.estimate == 1.0:
        return found

    def disagreement(kept: npt.NDArray[np.bool_]) -> float:
        """Return log(1 - alpha) of the kept judgements."""
        left = table.copy()
        left[rows[~kept], columns[~kept]] = np.nan
        return float(np.log(max(1 - alpha_estimate(left, measurement), 1e-9)))

    error = two_way_jackknife(disagreement, columns, people, seed=seed)
    if np.isnan(error.standard_error):
        return Interval(found.estimate, nan, nan, nan, found.clusters, found.n)
    centre = float(np.log(1 - found.estimate)) - error.bias
    half = float(stdtrit(error.freedom, (1 + level) / 2)) * error.standard_error
    low, high = max(-1.0, 1 - float(np.exp(centre + half))), 1 - float(np.exp(centre - half))
    return Interval(
        found.estimate,
        min(low, found.low),
        max(high, found.high),
        error.standard_error,
        found.clusters,
        found.n,
    )


def _table(y: Floats, items: Codes) -> tuple[Floats, Codes]:
    """Return judgements as a table with one column per item, padded with NaN, and the row of each judgement.

    Alpha does not depend on which annotator gave a judgement, so the rows of an item are filled in order.
    """
    order = np.argsort(items, kind="stable")
    sizes = np.bincount(items)
    rows = np.empty(len(y), dtype=np.intp)
    rows[order] = np.arange(len(y)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    table = np.full((int(sizes.max(initial=1)), max(len(sizes), 1)), np.nan)
    table[rows, items] = y
    return table, rows
