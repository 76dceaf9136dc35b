"""Reliability of mean judgements: how well two groups of annotators agree, and the ceiling of correlations."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evenhand.stats.arrays import Codes, Floats


@dataclass(frozen=True)
class Reliability:
    """Reliability of items' mean votes; NaN if it cannot be estimated.

    ``reliability`` is the correlation of the means of two independent groups of as many raters. ``ceiling`` is its
    square root: the largest correlation of any other quantity with these means.
    """

    reliability: Floats
    ceiling: Floats
    noise: Floats
    """1 - reliability. It is above 1 if items differ less than expected from the noise of the votes."""


def group_reliability(
    sizes: npt.ArrayLike, means: npt.ArrayLike, squares: npt.ArrayLike, weights: npt.ArrayLike | None = None
) -> Reliability:
    """Return the reliability of items' mean votes, by a one-way analysis of variance.

    Parameters
    ----------
    sizes, means, squares : array_like, shape (items,)
        Number of votes of each item, their mean, and the sum of squared deviations from it.
    weights : array_like, shape (resamples, items), optional
        Weight of each item in each resample. Default: 1, with results of shape (1,).

    Returns
    -------
    Reliability
        Reliability between 0 and 1. NaN if no item has two votes or items do not differ.

    Notes
    -----
    Effects of persons count as error: reliability is for raters who are sampled independently for each item.

    References
    ----------
    - Shrout & Fleiss 1979: ICC(1, k). Spearman 1904: the ceiling.

    >>> rng = np.random.default_rng(0)
    >>> truth = rng.normal(size=2000)
    >>> votes = truth[:, None] + rng.normal(size=(2000, 3))
    >>> of = group_reliability(np.full(2000, 3), votes.mean(axis=1), votes.var(axis=1) * 3)
    >>> round(float(of.reliability[0]), 1), round(float(of.ceiling[0]), 2)
    (0.8, 0.87)
    """
    n, mean, within = (np.asarray(each, dtype=np.float64) for each in (sizes, means, squares))
    times = np.ones((1, len(n))) if weights is None else np.atleast_2d(np.asarray(weights, dtype=np.float64))
    items, votes = times.sum(axis=1), times @ n
    with np.errstate(divide="ignore", invalid="ignore"):
        error = (times @ within) / (votes - items)
        grand = (times @ (n * mean)) / votes
        between = times @ (n * mean**2) - votes * grand**2
        per_item = (votes - times @ n**2 / votes) / (items - 1)
        spread = (between / (items - 1) - error) / per_item
        noise = error * (times @ (1 / n)) / items
        found = np.maximum(spread, 0.0) / (np.maximum(spread, 0.0) + noise)
        share = noise / (spread + noise)
    known = (votes > items) & (items > 1) & np.isfinite(found)
    reliability = np.where(known, found, np.nan)
    return Reliability(reliability, np.sqrt(reliability), np.where(known & (share > 0), share, np.nan))


def sums_of_items(items: Codes, values: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the number of values, mean and sum of squared deviations of each item (items,)."""
    sizes: Floats = np.bincount(items).astype(np.float64)
    means: Floats = np.asarray(np.bincount(items, values) / sizes)
    return sizes, means, np.asarray(np.bincount(items, (values - means[items]) ** 2), dtype=np.float64)


def weighted_correlations(first: Floats, second: Floats, weights: Floats) -> Floats:
    """Return Pearson's correlation of two columns of numbers (items,) for each row of weights (resamples, items).

    >>> weighted_correlations(np.array([1.0, 2, 3]), np.array([1.0, 3, 2]), np.ones((1, 3))).round(3).tolist()
    [0.5]
    """
    x, y = first - first.mean(), second - second.mean()  # centred, so that moments keep their precision
    moments = weights @ np.stack([np.ones(len(x)), x, y, x * x, y * y, x * y], axis=1)
    number, of_x, of_y, xx, yy, xy = moments.T
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = (xx - of_x**2 / number) * (yy - of_y**2 / number)
        found = (xy - of_x * of_y / number) / np.sqrt(spread)
        return np.asarray(np.where(spread > 1e-24 * np.abs(xx * yy), found, np.nan))
