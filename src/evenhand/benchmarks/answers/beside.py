"""Compare the groups of one axis within the groups of another: does the other axis explain the difference?

If most women are nurses, a difference between women and men may be a difference between nurses and others. Only a
comparison of women and men within each occupation can distinguish the two.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

BESIDE = "beside_"
"""Prefix of columns with the group of a response on another axis."""
LEAST_TIE = 0.1
"""Smallest Cramér's V at which two axes count as associated."""
MOST_AXES = 6
_TABLE: dict[str, type[pl.DataType]] = {
    **dict.fromkeys(("axis", "other"), pl.String),
    **dict.fromkeys(("tie", "gap", "gap_low", "gap_high", "p"), pl.Float64),
    **dict.fromkeys(("highest", "lowest", "obstacle"), pl.String),
    "same_in_each": pl.Boolean,
}


def group_columns(frame: pl.DataFrame) -> dict[str, str]:
    """Return, for each axis, the column with a response's group on that axis; empty if there is only one axis."""
    return {name.removeprefix(BESIDE): name for name in frame.columns if name.startswith(BESIDE)}


def inside_others(
    frame: pl.DataFrame,
    cluster: str,
    strata: Sequence[str],
    axes_of: Callable[[pl.DataFrame, list[str]], pl.DataFrame],
    *,
    value: str,
    is_rate: bool,
) -> pl.DataFrame:
    """Compare the groups of each axis within the groups of each associated axis.

    Parameters
    ----------
    frame
        Responses with axis, group, a column named BESIDE plus the axis for each axis, `cluster` and `strata`.
    cluster
        Column of the sampling unit.
    strata
        Columns that are held fixed.
    axes_of
        Function of the responses of one axis and the columns to hold fixed. It returns a row with gap, gap_low,
        gap_high, p, obstacle, and highest and lowest, the two groups with the largest gap.
    value
        Column of the outcome.
    is_rate
        Whether the outcome is 0 or 1.

    Returns
    -------
    polars.DataFrame
        axis, other (axis), tie (Cramér's V), gap with its CI and p, highest, lowest, obstacle and same_in_each. The
        last is True if the CI of the gap excludes 0 on the same side in every group of the other axis (simultaneous
        CIs).
    """
    columns = dict(list(group_columns(frame).items())[:MOST_AXES])
    rows = []
    for axis in columns:
        mine = frame.filter(axis=axis)
        for other, column in columns.items():
            here = mine.filter(pl.col(column).is_not_null() & (pl.col(column) != ""))
            if other == axis or here["group"].n_unique() < 2:
                continue
            tie = cramers_v(here["group"], here[column])
            single = here.group_by(cluster, "group").agg(pl.col(column).n_unique())[column].max() == 1
            if tie < LEAST_TIE or not single:
                continue
            held = pl.concat_str([column, *strata], separator="\x1f", ignore_nulls=True)
            found = axes_of(here.with_columns(held.alias(other)), [other])
            row = found.row(0, named=True)
            same = has_same_sign(here, column, cluster, value, row, is_rate=is_rate)
            rows.append({"axis": axis, "other": other, "tie": tie, "same_in_each": same} | row)
    return pl.DataFrame([{name: row.get(name) for name in _TABLE} for row in rows], schema=_TABLE)


def has_same_sign(
    frame: pl.DataFrame, other: str, cluster: str, value: str, row: Mapping[str, Any], *, is_rate: bool
) -> bool:
    """Return whether the gap between two groups has the same sign in each group of the column `other`.

    The CIs of the gap must exclude 0. row: has the two groups in `highest` and `lowest`.
    """
    from evenhand.stats import PairTable

    two = frame.filter(pl.col("group").is_in([row["highest"], row["lowest"]]), pl.col(value).is_not_null())
    if two["group"].n_unique() < 2:
        return False
    codes = [
        two[name].cast(pl.String).rank("dense").cast(pl.Int64).to_numpy()
        for name in ("group", other, cluster)
    ]
    table = PairTable(two[value].cast(pl.Float64).to_numpy(), *codes, is_rate=is_rate)
    gaps = table.gaps(0)
    everywhere = len(gaps.levels) == two[other].n_unique()
    return everywhere and bool(np.all(gaps.low > 0) or np.all(gaps.high < 0))


def cramers_v(first: pl.Series, second: pl.Series) -> float:
    """Return Cramér's V, the association of two categorical variables from 0 to 1, corrected for bias.

    Sources: Cramér 1946, chapter 21; correction: Bergsma 2013, A bias-correction for Cramér's V and Tschuprow's T,
    section 2.

    >>> cramers_v(pl.Series(["a", "b"] * 50), pl.Series(["x", "y"] * 50)) > 0.95
    True
    """
    table = pl.DataFrame({"first": first, "second": second}).group_by("first", "second").len()
    n, counted = len(first), pl.col("len").cast(pl.Float64)
    expected = counted.sum().over("first") * counted.sum().over("second") / n
    # empty cells contribute 0 to the sum of n² / expected, so only observed cells are needed
    squares = float(table.select((counted**2 / expected).sum()).item())
    r, c = first.n_unique(), second.n_unique()
    if min(r, c) < 2 or n < 2:
        return 0.0
    phi = max(squares - 1 - (r - 1) * (c - 1) / (n - 1), 0.0)
    rows, columns = r - (r - 1) ** 2 / (n - 1), c - (c - 1) ** 2 / (n - 1)
    return float((phi / max(min(rows, columns) - 1, 1e-12)) ** 0.5)
