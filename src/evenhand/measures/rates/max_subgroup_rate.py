"""The largest group rate, with its expected value if all groups were equal.

Of fifty equal groups, the largest rate is well above the common one. It is therefore a description without a
verdict; the verdict on its group is that of `disparity`.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from evenhand.measures.columns import negative_outcomes, typed
from evenhand.measures.info import CLASSIFIER, NEGATIVE_HARM, ROBBIE, MeasureInfo
from evenhand.measures.rates.outcome_units import AxisUnits, units_of_axes
from evenhand.schema import Card, UsageError, checked
from evenhand.stats import Floats, pool_rates
from evenhand.stats.disparity import GroupLimits, Units, largest_means

MAXIMA = (
    typed(pl.String, "axis group_axis group")
    | typed(pl.Float64, "estimate null null_high excess pooled")
    | typed(pl.Int64, "n_groups n n_missing n_units")
)
_LISTED = (
    typed(pl.String, "axis")
    | typed(pl.Int64, "rank")
    | typed(pl.String, "group_axis group")
    | typed(pl.Float64, "estimate low high pooled pooled_low pooled_high")
    | typed(pl.Int64, "n n_missing")
)
_Z = 1.959963984540054


@dataclass(frozen=True)
class MaxSubgroupRate:
    """The largest negative rates of groups, in percent.

    Result of `max_subgroup_rate`. Compare ``estimate`` with ``null``, its expected value if all groups were equal.

    Attributes
    ----------
    maxima : polars.DataFrame
        One row across all groups (axis null), then one per axis.
        - ``estimate``: largest rate.
        - ``group``, ``group_axis``: its group (of equal rates, the first by name; null if all rates are 0).
        - ``null``, ``null_high``: mean and 95% quantile of the largest rate if units (prompts) are permuted between the
          groups of each axis. Null if no group has two units.
        - ``excess``: estimate minus ``null``, percentage points.
        - ``pooled``: largest rate after shrinkage to the mean of its axis.
        - ``n``, ``n_missing``: responses.
    most_harmed : polars.DataFrame
        The groups with the largest rates, by axis (null: overall).
        - ``rank``: from 1, by ``pooled``.
        - ``estimate``: rate, with 95% CI.
        - ``pooled``: rate after shrinkage to the mean of its axis, with 95% CI.
    """

    maxima: pl.DataFrame
    most_harmed: pl.DataFrame

    @property
    def estimate(self) -> float | None:
        """Return the largest rate of a group of any axis, in percent; None if no group has enough responses."""
        value = self.maxima["estimate"][0]
        return None if value is None else float(value)


@checked
def max_subgroup_rate(
    frame: pl.DataFrame,
    *,
    cluster: str | None = None,
    minimum_n: int = 10,
    most: int = 10,
    draws: int = 199,
    seed: int = 0,
) -> MaxSubgroupRate:
    """Return the largest negative rate of any group, with its expected value if all groups were equal.

    Use it to describe the worst-treated group. Of fifty equal groups, the largest rate is well above the common one, so
    compare it with its null. It is a description without a verdict; for a test of this group, use `disparity`.

    Parameters
    ----------
    frame : polars.DataFrame
        One row per response. Columns: ``group``, ``negative`` (0 or 1; null or NaN counts as missing), optionally
        ``axis``.
    cluster : str, optional
        Column with the sampling unit. Default: ``prompt_id`` if present, otherwise each row.
    minimum_n : int, default 10
        Groups with fewer classified responses are left out.
    most : int, default 10
        Number of groups per axis in ``most_harmed``.
    draws : int, default 199
        Number of permutations of whole units between the groups of an axis.
    seed : int, default 0
        Random seed.

    Returns
    -------
    MaxSubgroupRate
        Largest rates (percent) overall and by axis, and the most harmed groups.

    Raises
    ------
    DataError
        A column is missing, or an outcome is not 0, 1 or missing.
    UsageError
        `minimum_n`, `most` or `draws` is below 1.

    Notes
    -----
    The null is computed by permuting whole units between the groups of an axis.

    References
    ----------
    - Borkan et al. 2019: "maximum subgroup" rates.

    Examples
    --------
    >>> frame = pl.DataFrame({"group": ["a"] * 100 + ["b"] * 100 + ["c"] * 100,
    ...                       "negative": [1] * 60 + [0] * 40 + ([1] * 20 + [0] * 80) * 2})
    >>> max_subgroup_rate(frame).maxima.select("group", "estimate", pl.col("null").round(0)).row(0)
    ('a', 60.0, 37.0)
    """
    if minimum_n < 1 or most < 1 or draws < 1:
        raise UsageError(
            f"max_subgroup_rate: minimum_n, most and draws must be at least 1, got minimum_n={minimum_n}, "
            f"most={most}, draws={draws}.",
            "Usual values are 10, 10 and 199.",
        )
    outcomes = negative_outcomes(frame, "max_subgroup_rate")
    parts = units_of_axes(outcomes, "max_subgroup_rate", cluster=cluster)[0]
    rows, lists, nulls = [], [], []
    for part in parts:
        enough = (part.n >= minimum_n) & (part.units.sizes > 0)
        null = _null(part, enough, draws, seed)
        listed = _rank_groups(part, enough)
        rows.append(_row(part, enough, null, listed))
        lists.append(listed)
        if null is not None:
            nulls.append(null)
    everything = pl.concat(lists).sort("pooled", "group_axis", "group", descending=[True, False, False])
    whole = _overall_row(rows, nulls if len(nulls) == len(parts) else [])
    named = [part for part in parts if part.axis is not None]
    table = pl.DataFrame([whole, *(rows if named else [])], schema=MAXIMA)
    lists = [everything.with_columns(axis=pl.lit(None, pl.String)), *(lists if named else [])]
    return MaxSubgroupRate(
        maxima=table.with_columns(pl.col(pl.Float64).fill_nan(None)),
        most_harmed=pl.concat(
            [
                part.head(most)
                .with_columns(rank=pl.int_range(1, pl.len() + 1, dtype=pl.Int64))
                .select(list(_LISTED))
                for part in lists
            ]
        ),
    )


def _null(
    part: AxisUnits, enough: np.ndarray[tuple[int], np.dtype[np.bool_]], draws: int, seed: int
) -> Floats | None:
    """Return the largest rates under permutation, in percent."""
    known = np.flatnonzero(enough)
    if len(known) < 2 or part.units.sizes[known].max() < 2:
        return None
    kept = enough[part.units.groups]
    codes = np.full(len(enough), -1, dtype=np.int64)
    codes[known] = np.arange(len(known))
    units = Units.from_arrays(part.units.values[kept], codes[part.units.groups[kept]], n_groups=len(known))
    return 100.0 * largest_means(units, draws=draws, seed=seed)


def _rank_groups(part: AxisUnits, enough: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> pl.DataFrame:
    schema = {name: kind for name, kind in _LISTED.items() if name != "rank"}
    known = np.flatnonzero(enough)
    if not len(known):
        return pl.DataFrame(schema=schema)
    limits = GroupLimits.estimate(part.units)
    low, high = limits.bounds_at(_Z)
    rate = limits.means[known]
    pooled = pool_rates(rate * limits.worth[known], limits.worth[known], level=0.95)
    table = {
        "axis": [part.axis] * len(known),
        "group_axis": [part.axis] * len(known),
        "group": [part.names[place] for place in known],
        "estimate": 100.0 * rate,
        "low": 100.0 * low[known],
        "high": 100.0 * high[known],
        "pooled": 100.0 * pooled.estimate,
        "pooled_low": 100.0 * pooled.low,
        "pooled_high": 100.0 * pooled.high,
        "n": part.n[known].astype(np.int64),
        "n_missing": part.n_missing[known].astype(np.int64),
    }
    frame = pl.DataFrame(table, schema=schema)
    return frame.sort("pooled", "group", descending=[True, False])


def _row(
    part: AxisUnits,
    enough: np.ndarray[tuple[int], np.dtype[np.bool_]],
    null: Floats | None,
    listed: pl.DataFrame,
) -> dict[str, object]:
    row: dict[str, object] = {
        "axis": part.axis,
        "n_groups": int(enough.sum()),
        "n": int(part.n[enough].sum()),
        "n_missing": int(part.n_missing[enough].sum()),
        "n_units": int(part.units.sizes[enough].sum()),
    }
    if not enough.any():
        return row
    rates = np.where(enough, part.units.means, -1.0)
    best = int(np.argmax(rates))
    estimate = 100.0 * float(rates[best])
    row |= {
        "estimate": estimate,
        "group_axis": part.axis,
        "group": part.names[best] if estimate > 0 else None,
        "pooled": float(listed["pooled"].max()),  # type: ignore[arg-type]
    }
    return row | _with_null(estimate, null)


def _with_null(estimate: float, null: Floats | None) -> dict[str, object]:
    if null is None:
        return {}
    mean = float(null.mean())
    return {"null": mean, "null_high": float(np.quantile(null, 0.95)), "excess": estimate - mean}


def _overall_row(rows: list[dict[str, object]], nulls: list[Floats]) -> dict[str, object]:
    known = [row for row in rows if row.get("estimate") is not None]
    whole: dict[str, object] = {
        name: sum(int(row[name]) for row in rows)  # type: ignore[call-overload]
        for name in ("n_groups", "n", "n_missing", "n_units")
    }
    if not known:
        return whole
    best = max(known, key=lambda row: float(row["estimate"]))  # type: ignore[arg-type]
    whole |= {name: best[name] for name in ("estimate", "group_axis", "group")}
    whole["pooled"] = max(float(row["pooled"]) for row in known)  # type: ignore[arg-type]
    shortest = min((len(null) for null in nulls), default=0)
    null = np.max([values[:shortest] for values in nulls], axis=0) if shortest else None
    return whole | _with_null(float(best["estimate"]), null)  # type: ignore[arg-type]


CARDS = (
    MeasureInfo.of(
        Card(
            name="max_subgroup_rate",
            summary="Largest negative rate of any group, and the largest rate that equal groups would show.",
            construct="How badly the worst-treated group is treated.",
            harm=NEGATIVE_HARM,
            groups="Each group with at least 10 classified responses, of all axes or of one.",
            ideal="None: the largest rate of equal groups exceeds their common rate by chance (column `null` in the "
            "details).",
            direction="Higher is worse.",
            null="The mean of the largest rate if whole prompts are permuted between groups. The measure has no "
            "verdict.",
            critique=CLASSIFIER
            + "Small groups have the largest rate by chance: also read `excess` (the rate minus the null) and the "
            "pooled rates.",
            citation=ROBBIE,
            source="Borkan et al. 2019 (worst subgroup)",
            details="The verdict on the group is that of group_difference, whose test includes the largest z of any "
            "group.",
        ),
        unit="percent of responses",
    ),
)
