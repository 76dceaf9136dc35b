"""Compute all Mann-Whitney tests between the rows of a table at once, from one matrix of counts."""

from functools import lru_cache

import numpy as np
from scipy.special import ndtr

from evenhand.schema import UsageError, checked_kinds
from evenhand.stats.arrays import Floats, Indices

MOST_GROUPS = 100_000
SMALL = 8  # scipy's `method="auto"`: exact distribution if either sample is this small and nothing is tied


@checked_kinds
def all_pairs(values: Floats, groups: Indices, n_groups: int) -> tuple[Indices, Indices, Floats, Floats]:
    """Return two-sided Mann-Whitney tests of every unordered pair of groups.

    Use it for many groups: it gives the same numbers as `scipy.stats.mannwhitneyu` with its defaults, for all pairs at
    once.

    Parameters
    ----------
    values : numpy.ndarray, shape (n,)
        Values. A missing one (NaN) makes every test of its group NaN (scipy's ``nan_policy="propagate"``).
    groups : numpy.ndarray of int, shape (n,)
        Group of each value, 0 to n_groups - 1. Sizes may differ.
    n_groups : int
        Number of groups.

    Returns
    -------
    first, second : numpy.ndarray of int, shape (pairs,)
        Groups of each pair, in the order (0, 1), (0, 2), ..., (1, 2), ...
    u : numpy.ndarray, shape (pairs,)
        U of the first group: the number of pairs of values in which its value is larger; ties count half. NaN
        for groups without values.
    p : numpy.ndarray, shape (pairs,)
        Two-sided p-values, not adjusted for multiple testing. NaN for groups without values.

    Notes
    -----
    The test uses the normal approximation with tie and continuity correction. For small samples without ties, it uses
    the exact distribution.

    Let C (group × distinct value) be the number of values. Then U = C (cumsum C - C/2)^T, and the ties of a pair follow
    from C, C^2 and C^3. C is sparse, so the product is computed as a sum over the values of each group.

    References
    ----------
    - Mann & Whitney 1947.

    Examples
    --------
    >>> _, _, u, p = all_pairs(np.array([1.0, 2, 3, 4]), np.array([0, 0, 1, 1]), 2)
    >>> float(u[0]), round(float(p[0]), 4)
    (0.0, 0.3333)
    """
    if values.ndim != 1 or values.shape != groups.shape:
        raise UsageError(
            f"all_pairs: values of shape {values.shape} and groups of shape {groups.shape} do not match.",
            "Give one group for each value, in one-dimensional arrays.",
        )
    if not 1 <= n_groups <= MOST_GROUPS or (len(groups) and not 0 <= groups.min() <= groups.max() < n_groups):
        raise UsageError(
            f"all_pairs: n_groups must be from 1 to {MOST_GROUPS:,}, and groups from 0 to n_groups - 1, got "
            f"n_groups={n_groups} and groups from {groups.min(initial=0)} to {groups.max(initial=0)}."
        )
    missing = np.isnan(values)
    poisoned = np.zeros(n_groups, dtype=bool)
    poisoned[groups[missing]] = True
    known_groups = groups[~missing]
    distinct, rank = np.unique(values[~missing], return_inverse=True)
    flat = np.bincount(known_groups * len(distinct) + rank, minlength=n_groups * len(distinct))
    counts: Floats = flat.reshape(n_groups, len(distinct)).astype(np.float64)
    sizes = counts.sum(axis=1)

    below = np.cumsum(counts, axis=1) - counts / 2
    first, second = np.triu_indices(n_groups, k=1)
    u = _sums_by_group(below, rank, known_groups)[first, second]
    ties = _tie_terms(counts)[first, second]

    n1, n2 = sizes[first], sizes[second]
    n = n1 + n2
    larger = np.maximum(u, n1 * n2 - u)
    with np.errstate(divide="ignore", invalid="ignore"):
        sd = np.sqrt(n1 * n2 / 12 * ((n + 1) - ties / (n * (n - 1))))
        p = np.minimum(2 * ndtr(-(larger - n1 * n2 / 2 - 0.5) / sd), 1.0)
    smaller_size, larger_size = np.minimum(n1, n2), np.maximum(n1, n2)
    exact = (smaller_size > 0) & (smaller_size <= SMALL) & (ties == 0)
    for m, k in np.unique(np.stack([smaller_size[exact], larger_size[exact]], axis=1), axis=0).astype(int):
        these = exact & (smaller_size == m) & (larger_size == k)
        p[these] = np.minimum(2 * _upper_tails(m, k)[larger[these].astype(np.intp)], 1.0)
    unusable = (n1 == 0) | (n2 == 0) | poisoned[first] | poisoned[second]
    return first, second, np.where(unusable, np.nan, u), np.where(unusable, np.nan, p)


def _sums_by_group(below: Floats, rank: Indices, groups: Indices) -> Floats:
    """Return the sum of below[:, rank] over the values of each group (groups, groups); 0 for groups without values."""
    order = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    sums = np.zeros((len(below), len(below)))
    if len(starts):
        sums[groups[order][starts]] = np.add.reduceat(below[:, rank[order]], starts, axis=1).T
    return sums


def _tie_terms(counts: Floats) -> Floats:
    """Return the sum of t^3 - t over tied values for each pair of groups, where t counts a value in both groups."""
    shared = counts[:, counts.sum(axis=0) > 1]  # a value that occurs once in the whole table is never tied
    square, cube = shared**2, shared**3
    cross = 3 * (square @ shared.T)
    own = (cube - shared).sum(axis=1)
    return np.asarray(own[:, None] + own[None, :] + cross + cross.T)


@lru_cache(maxsize=256)
def _upper_tails(smaller: int, larger: int) -> Floats:
    """Return P(U >= u) without ties for u = 0..smaller*larger, by the recurrence on the largest observation."""
    probability: dict[tuple[int, int], Floats] = {}
    for m in range(smaller + 1):
        for n in range(larger + 1):
            if m == 0 or n == 0:
                probability[m, n] = np.ones(1)
                continue
            mixed = np.zeros(m * n + 1)
            mixed[n:] += m / (m + n) * probability[m - 1, n]
            mixed[: m * (n - 1) + 1] += n / (m + n) * probability[m, n - 1]
            probability[m, n] = mixed
    return np.cumsum(probability[smaller, larger][::-1])[::-1]
