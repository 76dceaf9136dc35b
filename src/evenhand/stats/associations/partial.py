"""Ranks within strata, and what is left of them when other ranks are held equal."""

import numpy as np

from evenhand.stats.arrays import Codes, Flags, Floats, mean_of_known, middle_ranks


def ranks_within(values: Floats, strata: Codes) -> Floats:
    """Ranks of the rows of each stratum, spread evenly from -1/2 to 1/2, ties by middle ranks.

    values: (n, k) or (n,), no NaN. strata: (n,) codes. Returns the same shape; the mean in each stratum is 0, so that
    no difference between strata remains.

    >>> ranks_within(np.array([3.0, 9.0, 9.0, 50.0, 1.0]), np.array([0, 0, 0, 1, 1])).round(2).tolist()
    [-0.33, 0.17, 0.17, 0.25, -0.25]
    """
    ranks = np.empty(values.shape, dtype=np.float64)
    for stratum in np.unique(strata):
        mine = strata == stratum
        ranked = np.apply_along_axis(middle_ranks, 0, values[mine])
        ranks[mine] = (ranked - 0.5) / np.count_nonzero(mine) - 0.5
    return ranks


def centred_means(outcome: Floats, strata: Codes) -> Floats:
    """Each row's mean over columns, columns made comparable where some rows lack some.

    outcome: (n, t), NaN where a row was not seen in a column. Of each column the mean of a stratum is taken out first,
    so that a row that was seen in the severe columns alone does not pass for severe. Returns (n,): NaN where a row has
    nothing; within strata as the plain means where nothing is absent.

    >>> rows = np.array([[1.0, 5.0], [2.0, np.nan], [3.0, 7.0]])
    >>> centred_means(rows, np.zeros(3, np.int64)).tolist()
    [-1.0, 0.0, 1.0]
    """
    left = np.asarray(outcome, dtype=np.float64).copy()
    for stratum in np.unique(strata):
        mine = strata == stratum
        left[mine] -= mean_of_known(left[mine], 0)
    return mean_of_known(left, 1)


def partial_residuals(ranks: Floats) -> Floats:
    """The first two columns with the others taken out by least squares.

    ranks: (n, 2 + c), columns of mean 0. Returns (n, 2). Controls that never change, or say
    what others say, do nothing.
    """
    both, controls = ranks[:, :2], ranks[:, 2:]
    if not controls.shape[1]:
        return both
    basis, sizes, _ = np.linalg.svd(controls, full_matrices=False)
    basis = basis[:, varying(sizes, len(controls))]
    return np.asarray(both - basis @ (basis.T @ both))


def varying(sizes: Floats, rows: int) -> Flags:
    """Which singular values are more than rounding."""
    return np.asarray(sizes > 1e-9 * np.sqrt(max(rows, 1)))


def correlation(residuals: Floats) -> float:
    """Of two columns of mean 0; NaN where one of them is nothing but rounding."""
    sizes = np.square(residuals).sum(axis=0)
    if not sizes.min() > 1e-12 * len(residuals):
        return float("nan")
    product = float(residuals[:, 0] @ residuals[:, 1])
    return min(1.0, max(-1.0, product / float(np.sqrt(sizes.prod()))))
