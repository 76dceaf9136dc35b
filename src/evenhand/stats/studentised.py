"""The studentised cluster bootstrap of means and ratios, for many rows over the same clusters at once.

Every resample's deviation is divided by its own cluster-robust standard error, and the 95 % quantile of
its size takes the place of 1.96. In simulations of 10 to 100 clusters this covers 94-96 % where
percentile limits cover 87-94 % (tests/stats/test_bootstrap.py).
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from evenhand.schema import UsageError

Floats = npt.NDArray[np.float64]

CELLS = 1 << 22
"""Numbers held at once in a block of resamples: 32 MB."""


@dataclass(frozen=True)
class Intervals:
    """Many estimates with their limits, each array (rows,)."""

    estimate: Floats
    low: Floats
    high: Floats
    standard_error: Floats
    clusters: npt.NDArray[np.int64]


def cluster_bootstrap_table(
    sums: npt.ArrayLike, totals: npt.ArrayLike, *, resamples: int = 2000, level: float = 0.95, seed: int
) -> Intervals:
    """Studentised cluster bootstrap of many means or ratios over the same clusters at once.

    Every row (a descriptor, say) is estimated by sum(sums) / sum(totals) over its clusters; all rows
    share the resampled clusters. Arguments: `sums` and `totals` (rows, clusters), the sum and the
    number (or weight) of a row's observations in a cluster; NaN sum or total 0 where it has none;
    `level`, the coverage; `seed`. Returns Intervals; limits are NaN for rows with fewer than two
    clusters. Raises UsageError for wrong shapes. Source: as `cluster_bootstrap`.

    >>> table = cluster_bootstrap_table([[2.0, 4.0, 3.0], [1.0, 1.0, 4.0]], [[2, 2, 2], [1, 1, 2]], seed=0)
    >>> table.estimate.tolist()
    [1.5, 1.5]
    """
    row_sums = np.atleast_2d(np.asarray(sums, dtype=np.float64))
    row_totals = np.atleast_2d(np.asarray(totals, dtype=np.float64))
    if row_sums.shape != row_totals.shape or row_sums.ndim != 2:
        raise UsageError(
            f"cluster_bootstrap_table was given sums of shape {np.shape(sums)} and totals of shape "
            f"{np.shape(totals)}; both need (rows, clusters)."
        )
    there = (row_totals > 0) & ~np.isnan(row_sums)
    row_sums, row_totals = np.where(there, row_sums, 0.0), np.where(there, row_totals, 0.0)
    present = np.count_nonzero(there, axis=1)
    mass = row_totals.sum(axis=1)
    estimate = np.divide(row_sums.sum(axis=1), mass, out=np.full(len(mass), np.nan), where=mass > 0)
    # deviations from the estimate, not raw sums: the resampled variances below would lose all digits
    deviations = np.where(there, row_sums - np.nan_to_num(estimate)[:, None] * row_totals, 0.0)
    enough = present >= 2
    factor = np.sqrt(present / np.maximum(present - 1, 1))
    error = np.full(len(mass), np.nan)
    error[enough] = (factor * np.sqrt(np.square(deviations).sum(axis=1)))[enough] / mass[enough]
    # rounding noise of rows that do not vary at all
    scale = np.abs(row_sums).sum(axis=1)
    error[enough & (error * mass <= 1e-13 * scale)] = 0.0
    counts = resample_counts(row_sums.shape[1], resamples, np.random.SeedSequence(seed))
    quantile = np.full(len(mass), np.nan)
    step = max(1, CELLS // max(1, resamples))
    for start in range(0, len(mass), step):
        rows = slice(start, start + step)
        quantile[rows] = _studentised_quantile(
            deviations[rows], row_totals[rows], error[rows], factor[rows], present[rows], counts, level
        )
    half = quantile * error
    return Intervals(estimate, estimate - half, estimate + half, error, present.astype(np.int64))


def _studentised_quantile(
    deviations: Floats,
    totals: Floats,
    error: Floats,
    factor: Floats,
    present: npt.NDArray[np.intp],
    counts: Floats,
    level: float,
) -> Floats:
    """Quantile of |resampled deviation| / its own standard error, (rows,)."""
    mass = counts @ totals.T  # (resamples, rows)
    usable = mass > 0
    mass = np.where(usable, mass, 1.0)
    shift = (counts @ deviations.T) / mass
    square = counts @ np.square(deviations).T - 2.0 * shift * (counts @ (deviations * totals).T)
    square += np.square(shift) * (counts @ np.square(totals).T)
    own_error = factor * np.sqrt(np.maximum(square, 0.0)) / mass
    student = stdtrit(np.maximum(present - 1, 1), upper_tail(level))
    with np.errstate(invalid="ignore"):
        usable &= own_error > 1e-5 * error
    ratio = np.abs(np.divide(shift, own_error, out=np.full_like(shift, np.nan), where=usable))
    complete = usable.all(axis=0)
    result = np.array(student, dtype=np.float64)
    if complete.any():
        result[complete] = np.quantile(ratio[:, complete], level, axis=0)
    # Resamples of identical clusters have no scale of their own. What is left of them is too
    # regular, so Student's quantile is the least such a row gets.
    for row in np.flatnonzero(~complete & usable.any(axis=0)):
        result[row] = max(result[row], float(np.quantile(ratio[usable[:, row], row], level)))
    return result


def resample_counts(groups: int, resamples: int, seed: np.random.SeedSequence) -> Floats:
    """How often each cluster was drawn in each resample, (resamples, clusters)."""
    if groups == 0:
        return np.zeros((resamples, 0))
    drawn = np.random.default_rng(seed).integers(0, groups, size=(resamples, groups))
    drawn += np.arange(resamples)[:, None] * groups
    return np.bincount(drawn.ravel(), minlength=resamples * groups).reshape(resamples, groups).astype(float)


def upper_tail(level: float) -> float:
    """Probability below the upper limit of a two-sided interval; UsageError if `level` is none."""
    if not 0.0 < level < 1.0:
        raise UsageError(f"level is {level}, but a coverage lies between 0 and 1 (0.95, for example).")
    return 0.5 + level / 2.0
