"""A difference between the groups of one axis, looked at inside the groups of another: is it the other's?

Where women are mostly nurses, a difference between women and men may be one between nurses and others. Both are true of
the answers; only the second look tells them apart.
"""

from collections.abc import Callable, Sequence

import polars as pl

BESIDE = "beside_"
"""How columns begin that say which group of another axis an answer belongs to."""
LEAST_TIE = 0.1
"""Cramér's V from which two axes hang together."""
MOST_AXES = 6
_TABLE: dict[str, type[pl.DataType]] = {
    **dict.fromkeys(("axis", "other"), pl.String),
    **dict.fromkeys(("tie", "gap", "gap_low", "gap_high", "p"), pl.Float64),
    **dict.fromkeys(("highest", "lowest", "obstacle"), pl.String),
}


def inside_others(
    frame: pl.DataFrame,
    cluster: str,
    strata: Sequence[str],
    axes_of: Callable[[pl.DataFrame, list[str]], pl.DataFrame],
) -> pl.DataFrame:
    """Each axis inside the groups of each other axis that hangs together with it.

    frame: answers with axis, group, a column BESIDE + AXIS for each axis, `cluster` and `strata`. axes_of: from
    answers of one axis and columns to hold fixed to a row with gap, gap_low, gap_high, p and obstacle, and the two
    groups that differ most. Returns axis, other, tie (Cramér's V), gap, its limits, p, highest, lowest, obstacle.
    """
    names = [name.removeprefix(BESIDE) for name in frame.columns if name.startswith(BESIDE)]
    rows = []
    for axis in names[:MOST_AXES]:
        mine = frame.filter(axis=axis)
        for other in names[:MOST_AXES]:
            column = f"{BESIDE}{other}"
            here = mine.filter(pl.col(column).is_not_null() & (pl.col(column) != ""))
            if other == axis or here["group"].n_unique() < 2:
                continue
            tie = cramers_v(here["group"], here[column])
            single = here.group_by(cluster, "group").agg(pl.col(column).n_unique())[column].max() == 1
            if tie < LEAST_TIE or not single:
                continue
            held = pl.concat_str([column, *strata], separator="\x1f", ignore_nulls=True)
            found = axes_of(here.with_columns(held.alias(other)), [other])
            rows.append({"axis": axis, "other": other, "tie": tie} | found.row(0, named=True))
    return pl.DataFrame([{name: row.get(name) for name in _TABLE} for row in rows], schema=_TABLE)


def cramers_v(first: pl.Series, second: pl.Series) -> float:
    """How closely two labels hang together, from 0 to 1 (Cramér 1946, chapter 21), without what chance makes of it.

    Source of the correction: Bergsma 2013, A bias-correction for Cramér's V and Tschuprow's T, section 2.

    >>> cramers_v(pl.Series(["a", "b"] * 50), pl.Series(["x", "y"] * 50)) > 0.95
    True
    """
    table = pl.DataFrame({"first": first, "second": second}).group_by("first", "second").len()
    n, counted = len(first), pl.col("len").cast(pl.Float64)
    expected = counted.sum().over("first") * counted.sum().over("second") / n
    # cells that are empty add nothing to the sum of squares over expectations
    squares = float(table.select((counted**2 / expected).sum()).item())
    r, c = first.n_unique(), second.n_unique()
    if min(r, c) < 2 or n < 2:
        return 0.0
    phi = max(squares - 1 - (r - 1) * (c - 1) / (n - 1), 0.0)
    rows, columns = r - (r - 1) ** 2 / (n - 1), c - (c - 1) ** 2 / (n - 1)
    return float((phi / max(min(rows, columns) - 1, 1e-12)) ** 0.5)
