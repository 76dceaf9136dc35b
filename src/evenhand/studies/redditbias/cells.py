"""The result as one table: for each bias, model and measure a number, its limits, its null, and what changed."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from evenhand.reports import HIGHER, LOWER, NOT_DETECTED
from evenhand.stats import holm
from evenhand.studies.redditbias.options import BASE

CELLS = {
    "bias": pl.String,
    "model": pl.String,  # base, or the method as named
    "measure": pl.String,
    "estimate": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "null": pl.Float64,
    "p": pl.Float64,  # of bias
    "q": pl.Float64,
    "verdict": pl.String,
    "direction": pl.String,
    "change": pl.Float64,  # from the base model, on the same texts; of perplexities a ratio
    "change_low": pl.Float64,
    "change_high": pl.Float64,
    "change_p": pl.Float64,
    "change_q": pl.Float64,  # of costs: Holm's over all debiased models
    "change_verdict": pl.String,  # lower, higher or not detected
    "n": pl.Int64,
}


def cell_table(rows: Sequence[dict[str, Any]], alpha: float) -> pl.DataFrame:
    """All cells (CELLS), changes that nobody judged yet judged by Holm over the debiased models of a measure.

    rows: cells with bias and model. alpha: chance of any false change of a measure that debiasing leaves as it is.
    """
    table = pl.DataFrame(
        [{name: row.get(name) for name in CELLS} for row in rows], schema=CELLS, orient="row", strict=False
    )
    judged = []
    for part in table.with_row_index("place").partition_by("measure", maintain_order=True):
        open_rows = (
            pl.col("change_p").is_not_null() & pl.col("change_verdict").is_null() & (pl.col("model") != BASE)
        )
        found = part.filter(open_rows)
        if found.height:
            q = holm(found["change_p"].to_numpy())
            null = 1.0 if part["measure"][0].startswith("redditbias_lmp") else 0.0
            moved = [
                NOT_DETECTED if value > alpha else HIGHER if change > null else LOWER
                for value, change in zip(q, found["change"].to_list(), strict=True)
            ]
            found = found.with_columns(
                pl.Series("change_q", q, dtype=pl.Float64),
                pl.Series("change_verdict", moved, dtype=pl.String),
            )
        judged += [found, part.filter(~open_rows)]
    return pl.concat(judged).sort("place").drop("place") if judged else table
