"""Interactions of two group columns that missing outcomes could explain."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from evenhand.stats import Floats, PairTable
from evenhand.stats.disparity import (
    EQUAL,
    MissingExcess,
    Units,
    explained_by_excess,
    extremes_of_missing,
    missing_shares,
    p_of_equal_shares,
)


@dataclass(frozen=True)
class MissingCells:
    """Missing outcomes of the tested combinations of two group columns; ``names`` and ``absent`` are (cells,)."""

    table: PairTable
    names: Sequence[str]
    absent: Floats
    excess: MissingExcess

    @classmethod
    def of(
        cls,
        rows: pl.DataFrame,
        table: PairTable,
        columns: tuple[str, str],
        groups: tuple[list[str], list[str]],
        value: str,
        cluster: str,
    ) -> "MissingCells":
        """Return the missing outcomes of each combination.

        Parameters
        ----------
        rows : polars.DataFrame
            Outcomes, including missing ones.
        columns, groups
            Names of the two columns, and of their groups in the order of the table's codes.
        value, cluster : str
            Columns of the outcome and of the sampling unit.
        """
        cells = [(groups[0][int(first)], groups[1][int(second)]) for first, second in table.cells]
        order = pl.DataFrame(cells, schema=["first", "second"], orient="row")
        texts = rows.with_columns(
            pl.col(column).cast(pl.String).alias(name)
            for name, column in zip(("first", "second"), columns, strict=True)
        )
        units = texts.group_by("first", "second", cluster).agg(lacks=pl.col(value).is_null().mean())
        units = units.join(order.with_row_index("cell"), on=["first", "second"]).sort("cell", cluster)
        held = None if table.nested else units[cluster].rank("dense").to_numpy()
        lacking = Units.from_arrays(
            units["lacks"].to_numpy(), units["cell"].to_numpy(), n_groups=len(cells), strata=held
        )
        (absent, error), count = missing_shares(lacking), lacking.sizes.astype(np.float64)
        if table.is_rate:
            rates = np.clip(table.means, 0, 1)
            bounds = rates, 1 - rates
        else:
            known = texts.drop_nulls(value).partition_by("first", "second", as_dict=True)
            numbers = [np.sort(known[cell][value].to_numpy()) for cell in cells]
            bounds = extremes_of_missing(table.means, [one - one.mean() for one in numbers], absent)
        is_chance = p_of_equal_shares(absent, error, count) >= EQUAL
        excess = MissingExcess.from_shares(absent, error, *bounds, is_chance=is_chance, units=count)
        return cls(table, [" × ".join(cell) for cell in cells], absent, excess)

    def explanation(self) -> str | None:
        """Return why a significant interaction is not measurable, or None.

        The excess of missing outcomes over the combination that lacks fewest is assumed to contradict the finding. The
        finding is the largest departure of a combination or, if that may be 0, the root mean square departure.
        """
        largest = self.table.largest_departure()
        maker = self.table.residuals_of(np.eye(len(self.names)))
        cell = largest.cells[0]
        sure = max(largest.low, -largest.high)
        if sure > 0:
            contrasts = maker[[cell]] / maker[cell, cell]
            estimate = np.array([largest.estimate])
            is_explained = bool(explained_by_excess(estimate, np.array([sure]), contrasts, [self.excess])[0])
        else:
            departs = self.table.residuals_of(self.table.means)
            one = self.excess
            towards = maker @ (np.where(departs > 0, -one.below, one.above) * one.share)
            sizes = self.table.n_units / self.table.n_units.sum()
            is_explained = bool(towards.any() and np.sqrt(sizes @ towards**2) >= self.table.spread()[1])
        if not is_explained:
            return None
        most, least = int(np.argmax(self.absent)), int(np.argmin(self.absent))
        return (
            f"Missing responses could explain the interaction: {100 * self.absent[most]:.0f}% of those for "
            f"{self.names[most]} are missing, and {100 * self.absent[least]:.0f}% of those for {self.names[least]}. "
            "In the worst case for the additional missing responses, the interaction is not significant."
        )
