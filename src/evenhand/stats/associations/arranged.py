"""Prepare data for a rank relation: ranks within strata, control columns, and the same data with some rows left out."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evenhand.schema import UsageError
from evenhand.stats.arrays import Codes, Flags, Floats
from evenhand.stats.associations.partial import (
    bin_indicators,
    centred_means,
    columns_within,
    correlation,
    partial_residuals,
    squares_fit,
)


@dataclass(frozen=True)
class RankData:
    """Data of a rank relation: the complete rows, without rows that are alone in their stratum.

    A row is an observation, such as a descriptor.

    Attributes
    ----------
    values : numpy.ndarray, shape (n, 2 + c)
        First quantity, second quantity (mean over samples) and c controls.
    bins : numpy.ndarray, shape (n, b)
        Indicator columns of the bins of the controls.
    columns : numpy.ndarray, shape (n, 2 + k)
        Ranks within strata of the first and second quantity, and k columns whose effect is removed.
    strata, clusters : numpy.ndarray of int, shape (n,)
        Codes of the stratum and the cluster of each row.
    outcome : numpy.ndarray, shape (n, t)
        Second quantity in each of t samples (such as templates); NaN is missing.
    squared : bool
        True if ``columns`` contains the squared ranks of the controls.
    """

    values: Floats
    bins: Floats
    columns: Floats
    strata: Codes
    clusters: Codes
    outcome: Floats
    squared: bool

    @property
    def n_removed(self) -> int:
        """Return k, the number of columns whose effect is removed."""
        return int(self.columns.shape[1]) - 2

    @property
    def n_clusters(self) -> int:
        """Return the number of clusters."""
        return len(np.unique(self.clusters))

    @property
    def residuals(self) -> Floats:
        """Return the ranks of both quantities after the effect of the controls is removed, shape (n, 2)."""
        return partial_residuals(self.columns)

    def correlation(self) -> float:
        """Return the correlation of the residuals; NaN if one of them is 0 up to rounding."""
        return correlation(self.residuals) if len(self.values) > 2 else float("nan")

    def drop_rows(self, dropped: Flags) -> "RankData":
        """Return the data without the rows that are True in `dropped`, shape (n,).

        Ranks depend on the other rows of a stratum, so the remaining rows of these strata are ranked again.
        """
        kept = ~dropped
        strata, columns = self.strata[kept], self.columns[kept]
        values, bins = self.values[kept], self.bins[kept]
        again = np.isin(strata, np.unique(self.strata[dropped]))
        if again.any():
            columns[again] = columns_within(values[again], bins[again], strata[again], squared=self.squared)
        return RankData(values, bins, columns, strata, self.clusters[kept], self.outcome[kept], self.squared)

    def drop_sample(self, column: int) -> "RankData":
        """Return the data without one column of ``outcome`` (a sample, such as a template).

        Rows that had a number only in this column are left out, and all rows are ranked again.
        """
        others = np.delete(self.outcome, column, axis=1)
        seen = ~np.isnan(others).all(axis=1)
        strata, bins = self.strata[seen], self.bins[seen]
        values = np.column_stack(
            [self.values[seen, 0], centred_means(others[seen], strata), self.values[seen, 2:]]
        )
        columns = columns_within(values, bins, strata, squared=self.squared)
        return RankData(values, bins, columns, strata, self.clusters[seen], others[seen], self.squared)

    def largest_correlation(self) -> float:
        """Return the largest correlation (0 to 1) that ranks with these ties can have.

        Ties differ between both quantities, so that even the same order of rows does not give a correlation of 1. The
        largest value is that of the two columns of ranks, each sorted within strata.
        """
        product = 0.0
        for stratum in np.unique(self.strata):
            mine = self.strata == stratum
            product += float(np.sort(self.columns[mine, 0]) @ np.sort(self.columns[mine, 1]))
        sizes = np.square(self.columns[:, :2]).sum(axis=0)
        return product / float(np.sqrt(sizes.prod())) if sizes.min() > 0 else 0.0


def prepare_rank_data(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    strata: npt.ArrayLike,
    clusters: npt.ArrayLike,
    controls: npt.ArrayLike | None,
) -> RankData:
    """Return the complete rows of a rank relation, without rows that are alone in their stratum.

    The parameters are those of `rank_relation`. A row is complete if `first` and all controls are finite and at least
    one column of `second` is known. Raises UsageError if the shapes do not match.
    """
    one, outcome = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    outcome = outcome[:, None] if outcome.ndim == 1 else outcome
    held = np.zeros((len(one), 0)) if controls is None else np.asarray(controls, dtype=np.float64)
    labels = [np.asarray(strata), np.asarray(clusters)]
    shapes = [one.shape, outcome.shape[:1], held.shape[:1], *(label.shape for label in labels)]
    if one.ndim != 1 or outcome.ndim != 2 or held.ndim != 2 or len(set(shapes)) > 1:
        raise UsageError(
            f"rank_relation: the arguments have different numbers of rows: shapes {', '.join(map(str, shapes))}.",
            "All arguments must have one value (`controls`: one row) per observation.",
        )
    seen = ~np.isnan(outcome).all(axis=1) & np.isfinite(one) & np.isfinite(held).all(axis=1)
    axes, groups = (np.unique(label[seen], return_inverse=True)[1] for label in labels)
    # equal labels in different strata are different clusters
    groups = np.unique(np.stack([axes, groups]), axis=1, return_inverse=True)[1].reshape(-1)
    outcome = outcome[seen]
    outcome = outcome[:, ~np.isnan(outcome).all(axis=0)] if len(outcome) else outcome
    means = centred_means(outcome, axes) if len(axes) else np.zeros(0)
    values = np.column_stack([one[seen], means, held[seen]])
    alone = np.bincount(axes)[axes] < 2 if len(axes) else np.zeros(0, dtype=bool)
    values, axes, groups, outcome = values[~alone], axes[~alone], groups[~alone], outcome[~alone]
    groups = np.unique(groups, return_inverse=True)[1]
    bins, squared = bin_indicators(values[:, 2:]), squares_fit(len(values), held.shape[1])
    columns = columns_within(values, bins, axes, squared=squared)
    return RankData(values, bins, columns, axes, groups, outcome, squared)
