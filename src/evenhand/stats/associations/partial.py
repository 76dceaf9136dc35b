"""Compute ranks within strata, and remove the effect of control variables from them."""

import numpy as np

from evenhand.stats.arrays import Codes, Flags, Floats, mean_of_known, middle_ranks

ROWS_PER_COLUMN = 6
"""Smallest number of rows per column whose effect is removed."""
MOST_BINS = 20


def ranks_within(values: Floats, strata: Codes) -> Floats:
    """Return ranks within each stratum, evenly spaced between -1/2 and 1/2.

    Parameters
    ----------
    values : numpy.ndarray, shape (n,) or (n, k)
        Numbers without NaN.
    strata : numpy.ndarray of int, shape (n,)
        Stratum of each row.

    Returns
    -------
    numpy.ndarray, same shape as `values`
        Ranks with mean 0 in each stratum. Ties get the mean of their ranks.

    >>> ranks_within(np.array([3.0, 9.0, 9.0, 50.0, 1.0]), np.array([0, 0, 0, 1, 1])).round(2).tolist()
    [-0.33, 0.17, 0.17, 0.25, -0.25]
    """
    ranks = np.empty(values.shape, dtype=np.float64)
    for stratum in np.unique(strata):
        mine = strata == stratum
        ranked = np.apply_along_axis(middle_ranks, 0, values[mine])
        ranks[mine] = (ranked - 0.5) / np.count_nonzero(mine) - 0.5
    return ranks


def split_half_reliability(halves: Floats, strata: Codes) -> float | None:
    """Return the reliability (0 to 1) of ranks within strata, from two halves of a sample.

    The reliability is the expected correlation with the ranks in another sample of the same size.

    Parameters
    ----------
    halves : numpy.ndarray, shape (n, 2)
        The same quantity, computed from each half of the sample.
    strata : numpy.ndarray of int, shape (n,)
        Stratum of each row.

    Returns
    -------
    float or None
        Correlation of the halves, adjusted to the full sample (Spearman-Brown 1910). 0 if a half does not vary. None
        with fewer than three rows.

    >>> split_half_reliability(np.array([[1.0, 2.0], [2.0, 3.0], [3.0, 9.0]]), np.zeros(3, np.int64))
    1.0
    """
    if len(halves) < 3:
        return None
    half = correlation(ranks_within(halves, strata))
    half = 0.0 if np.isnan(half) else max(0.0, half)
    return 2 * half / (1 + half)


def centred_means(outcome: Floats, strata: Codes) -> Floats:
    """Return the mean of each row over columns, adjusted for columns in which some rows are missing.

    Each column is centred within strata first. A row that was only observed in columns with high values therefore does
    not get a high mean.

    Parameters
    ----------
    outcome : numpy.ndarray, shape (n, t)
        Numbers; NaN is missing.
    strata : numpy.ndarray of int, shape (n,)
        Stratum of each row.

    Returns
    -------
    numpy.ndarray, shape (n,)
        Means relative to the stratum. NaN if a row has no number.

    >>> rows = np.array([[1.0, 5.0], [2.0, np.nan], [3.0, 7.0]])
    >>> centred_means(rows, np.zeros(3, np.int64)).tolist()
    [-1.0, 0.0, 1.0]
    """
    left = np.asarray(outcome, dtype=np.float64).copy()
    for stratum in np.unique(strata):
        mine = strata == stratum
        left[mine] -= mean_of_known(left[mine], 0)
    return mean_of_known(left, 1)


def bin_indicators(controls: Floats) -> Floats:
    """Return indicator columns for bins of each control; the first bin of each has no column.

    A bin contains neighbouring values of all strata. Bins have about equal numbers of rows. Their number is chosen so
    that at least `ROWS_PER_COLUMN` rows remain per column, including the columns of ranks and squared ranks.

    Parameters
    ----------
    controls : numpy.ndarray, shape (n, c)
        Values of the controls.

    Returns
    -------
    numpy.ndarray, shape (n, b)
        Zeros and ones.

    Examples
    --------
    >>> bin_indicators(np.repeat([3.0, 4.0, 9.0], 20)[:, None]).sum(axis=0).tolist()
    [20.0, 20.0]
    """
    rows, number = controls.shape
    spare = max(0, rows // ROWS_PER_COLUMN - 2 * number)
    most = min(MOST_BINS, 1 + spare // max(1, number))
    bins = [_bins(controls[:, place], most) for place in range(number)] if rows else []
    return np.column_stack([np.zeros((rows, 0)), *(np.eye(int(one.max()) + 1)[one][:, 1:] for one in bins)])


def squares_fit(rows: int, controls: int) -> bool:
    """Return True if the effect of the controls' squared ranks can be removed too.

    This needs `ROWS_PER_COLUMN` rows for each column, and each control has two columns (ranks and squared ranks).
    """
    return rows >= 2 * controls * ROWS_PER_COLUMN


def columns_within(values: Floats, bins: Floats, strata: Codes, *, squared: bool) -> Floats:
    """Return ranks within strata of two quantities and their controls, squared ranks of the controls, and bins.

    Parameters
    ----------
    values : numpy.ndarray, shape (n, 2 + c)
        Two quantities and c controls.
    bins : numpy.ndarray, shape (n, b)
        Result of `bin_indicators`.
    strata : numpy.ndarray of int, shape (n,)
        Codes of strata.
    squared : bool
        True: include the squared ranks of the controls.

    Returns
    -------
    numpy.ndarray, shape (n, 2 + c + c + b), or (n, 2 + c + b) without squares
        Columns with mean 0 in each stratum.
    """
    ranks = ranks_within(values, strata)
    curved = np.square(ranks[:, 2:]) if squared else ranks[:, :0]
    further = np.column_stack([curved, bins])
    for stratum in np.unique(strata):
        mine = strata == stratum
        further[mine] -= further[mine].mean(axis=0)
    return np.column_stack([ranks, further])


def _bins(values: Floats, most: int) -> Codes:
    """Return codes of at most `most` bins of neighbouring values with about equal numbers of rows."""
    distinct, places, sizes = np.unique(values, return_inverse=True, return_counts=True)
    least = len(values) / most
    codes = np.zeros(len(distinct), dtype=np.int64)
    filled = 0
    for place, size in enumerate(sizes):
        if place:
            codes[place] = codes[place - 1]
            # a value that is frequent enough to fill a bin gets its own bin
            if filled >= least or (size >= least and filled >= least / 4):
                codes[place] += 1
                filled = 0
        filled += int(size)
    if filled < least / 4 and codes[-1] > 0:
        codes[codes == codes[-1]] -= 1
    return np.asarray(codes[places.reshape(-1)])


def partial_residuals(ranks: Floats) -> Floats:
    """Return the residuals of the first two columns after least-squares regression on the others.

    Parameters
    ----------
    ranks : numpy.ndarray, shape (n, 2 + c)
        Columns with mean 0.

    Returns
    -------
    numpy.ndarray, shape (n, 2)
        Residuals. Constant or collinear controls have no effect.
    """
    both, controls = ranks[:, :2], ranks[:, 2:]
    if not controls.shape[1]:
        return both
    basis, sizes, _ = np.linalg.svd(controls, full_matrices=False)
    basis = basis[:, varying(sizes, len(controls))]
    return np.asarray(both - basis @ (basis.T @ both))


def varying(sizes: Floats, rows: int) -> Flags:
    """Return True for singular values (k,) of a matrix with this number of rows that exceed rounding errors."""
    return np.asarray(sizes > 1e-9 * np.sqrt(max(rows, 1)))


def correlation(residuals: Floats) -> float:
    """Return the correlation of two columns with mean 0; NaN if one of them is 0 up to rounding."""
    sizes = np.square(residuals).sum(axis=0)
    if not sizes.min() > 1e-12 * len(residuals):
        return float("nan")
    product = float(residuals[:, 0] @ residuals[:, 1])
    return min(1.0, max(-1.0, product / float(np.sqrt(sizes.prod()))))
