"""Tables of the combinations of two group columns, for answers with several such columns."""

import polars as pl

from evenhand.reports import BIASED, BenchmarkView, wording
from evenhand.studies.plain_page import PlainTable

MOST_COLUMNS = 12
"""A wider table would not fit on a page; the detail table `interaction_cells` has every combination."""


def combination_tables(benchmark: BenchmarkView) -> list[PlainTable]:
    """Return one table for each pair of group columns: the rate or mean of every combination.

    Made from the details `interactions`, `interaction_cells` and `design`; empty where there is one group column.
    """
    pairs, cells = benchmark.detail("interactions"), benchmark.detail("interaction_cells")
    design = benchmark.detail("design")
    if pairs is None or cells is None or design is None:
        return []
    is_rate, what = design["rates"][0], design["outcome"][0]
    tables = []
    for pair in pairs.iter_rows(named=True):
        mine = cells.filter(axis=pair["axis"])
        if mine["second_group"].n_unique() > MOST_COLUMNS:
            continue
        title = f"Rate of {what} answers, %" if is_rate else f"Mean of {what}"
        tables.append(_table(f"{title}, by {pair['first']} and {pair['second']}", mine, is_rate=is_rate))
    return tables


def _table(title: str, cells: pl.DataFrame, *, is_rate: bool) -> PlainTable:
    levels = cells["second_group"].unique().sort().to_list()
    places = 1 if is_rate else wording.decimals(cells["mean"].to_list())
    shown = {
        (row["first_group"], row["second_group"]): _cell(row["mean"], row["n"], places, named=row["named"])
        for row in cells.iter_rows(named=True)
    }
    rows = [
        [wording.label(first), *(shown.get((first, level), "") for level in levels)]
        for first in cells["first_group"].unique().sort()
    ]
    heads = (("", "left"), *((wording.label(level), "right") for level in levels))
    marked = cells["named"].any()
    lines = (f"{wording.SYMBOLS[BIASED]}: differs from what both columns explain. In brackets: answers.",)
    return PlainTable(title, heads, rows, lines if marked else ("In brackets: answers.",))


def _cell(mean: float, n: int, places: int, *, named: bool) -> str:
    mark = f"{wording.SYMBOLS[BIASED]} " if named else ""
    return f"{mark}{wording.number(mean, places)} ({n:,})"
