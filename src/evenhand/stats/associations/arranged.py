"""Things arranged for a rank relation: ranks within strata, what is held equal, and the same with some left out."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evenhand.schema import UsageError
from evenhand.stats.arrays import Codes, Flags, Floats
from evenhand.stats.associations.partial import (
    bins_of,
    centred_means,
    columns_within,
    correlation,
    partial_residuals,
    squares_fit,
)


@dataclass(frozen=True)
class Arranged:
    """Rows that have all numbers and are not alone in their stratum.

    Attributes
    ----------
    values
        (n, 2 + c), first, second, controls.
    bins
        (n, b), of the controls.
    columns
        (n, 2 + k), ranks within strata of first and second, and what is held equal.
    strata, clusters
        (n,) codes.
    outcome
        (n, t), second in each sample.
    """

    values: Floats
    bins: Floats
    columns: Floats
    strata: Codes
    clusters: Codes
    outcome: Floats
    squared: bool

    @property
    def held(self) -> int:
        """Columns that are held equal."""
        return int(self.columns.shape[1]) - 2

    @property
    def groups(self) -> int:
        """Number of clusters."""
        return len(np.unique(self.clusters))

    @property
    def residuals(self) -> Floats:
        """(n, 2): ranks of first and second without what is held equal."""
        return partial_residuals(self.columns)

    def correlation(self) -> float:
        """Of the residuals; NaN where one of them is nothing but rounding."""
        return correlation(self.residuals) if len(self.values) > 2 else float("nan")

    def without(self, dropped: Flags) -> "Arranged":
        """The other rows, the strata of the dropped ones ranked again."""
        kept = ~dropped
        strata, columns = self.strata[kept], self.columns[kept]
        values, bins = self.values[kept], self.bins[kept]
        again = np.isin(strata, np.unique(self.strata[dropped]))
        if again.any():
            columns[again] = columns_within(values[again], bins[again], strata[again], squared=self.squared)
        return Arranged(values, bins, columns, strata, self.clusters[kept], self.outcome[kept], self.squared)

    def unsampled(self, column: int) -> "Arranged":
        """Without one sample of the second number, and without the rows that were seen in no other."""
        others = np.delete(self.outcome, column, axis=1)
        seen = ~np.isnan(others).all(axis=1)
        strata, bins = self.strata[seen], self.bins[seen]
        values = np.column_stack(
            [self.values[seen, 0], centred_means(others[seen], strata), self.values[seen, 2:]]
        )
        columns = columns_within(values, bins, strata, squared=self.squared)
        return Arranged(values, bins, columns, strata, self.clusters[seen], others[seen], self.squared)

    def attainable(self) -> float:
        """The largest correlation of ranks with ties like these, were one number to rise with the other."""
        product = 0.0
        for stratum in np.unique(self.strata):
            mine = self.strata == stratum
            product += float(np.sort(self.columns[mine, 0]) @ np.sort(self.columns[mine, 1]))
        sizes = np.square(self.columns[:, :2]).sum(axis=0)
        return product / float(np.sqrt(sizes.prod())) if sizes.min() > 0 else 0.0


def arranged(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    strata: npt.ArrayLike,
    clusters: npt.ArrayLike,
    controls: npt.ArrayLike | None,
) -> Arranged:
    """Check shapes, and leave out rows without a number and those alone in their stratum. Raises UsageError."""
    one, outcome = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    outcome = outcome[:, None] if outcome.ndim == 1 else outcome
    held = np.zeros((len(one), 0)) if controls is None else np.asarray(controls, dtype=np.float64)
    labels = [np.asarray(strata), np.asarray(clusters)]
    shapes = [one.shape, outcome.shape[:1], held.shape[:1], *(label.shape for label in labels)]
    if one.ndim != 1 or outcome.ndim != 2 or held.ndim != 2 or len(set(shapes)) > 1:
        raise UsageError(
            f"rank_relation was given rows of shapes {', '.join(map(str, shapes))}.",
            "Give one number, outcome, stratum, cluster and row of controls for each thing.",
        )
    seen = ~np.isnan(outcome).all(axis=1) & np.isfinite(one) & np.isfinite(held).all(axis=1)
    axes, groups = (np.unique(label[seen], return_inverse=True)[1] for label in labels)
    groups = np.unique(np.stack([axes, groups]), axis=1, return_inverse=True)[1].reshape(-1)
    outcome = outcome[seen]
    outcome = outcome[:, ~np.isnan(outcome).all(axis=0)] if len(outcome) else outcome
    means = centred_means(outcome, axes) if len(axes) else np.zeros(0)
    values = np.column_stack([one[seen], means, held[seen]])
    alone = np.bincount(axes)[axes] < 2 if len(axes) else np.zeros(0, dtype=bool)
    values, axes, groups, outcome = values[~alone], axes[~alone], groups[~alone], outcome[~alone]
    groups = np.unique(groups, return_inverse=True)[1]
    bins, squared = bins_of(values[:, 2:]), squares_fit(len(values), held.shape[1])
    columns = columns_within(values, bins, axes, squared=squared)
    return Arranged(values, bins, columns, axes, groups, outcome, squared)
