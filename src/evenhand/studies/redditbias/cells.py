"""One table with all results: for each bias, model and measure an estimate, its CI, its null and its change."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from evenhand.reports import HIGHER, LOWER, NOT_DETECTED
from evenhand.stats import holm
from evenhand.studies.redditbias.options import BASE

CELLS = {
    "bias": pl.String,
    "model": pl.String,  # "base", or the debiasing method as the user named it
    "measure": pl.String,
    "estimate": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "null": pl.Float64,
    "p": pl.Float64,  # of bias
    "q": pl.Float64,
    "verdict": pl.String,
    "direction": pl.String,
    "change": pl.Float64,  # from the base model, on the same texts; a ratio for perplexities
    "change_low": pl.Float64,
    "change_high": pl.Float64,
    "change_p": pl.Float64,
    "change_q": pl.Float64,  # only for costs: by Holm's method over the debiased models
    "change_verdict": pl.String,  # lower, higher or not detected
    # distance from no bias minus that of the base model (size) or of the control (beyond); below 0: less bias
    **{
        f"{what}{part}": pl.String if part == "_verdict" else pl.Float64
        for what in ("size", "beyond")
        for part in ("", "_low", "_high", "_p", "_q", "_verdict")
    },
    "control": pl.String,  # the model without the method, the reference of `beyond`
    "n": pl.Int64,
}


def cell_table(rows: Sequence[dict[str, Any]], alpha: float) -> pl.DataFrame:
    """Return all cells (CELLS). Changes that have a p but no verdict yet get a q and a verdict.

    q is p by Holm's method over the debiased models of a measure.

    Parameters
    ----------
    rows
        Cells with bias and model.
    alpha
        Significance level. If debiasing does not change a measure, this is the probability that a change of this
        measure is reported for at least one model.
    """
    table = pl.DataFrame(
        [{name: row.get(name) for name in CELLS} for row in rows], schema=CELLS, orient="row", strict=False
    )
    for what in ("size", "beyond", "change"):
        table = _add_verdicts(table, what, alpha)
    return table


def _add_verdicts(table: pl.DataFrame, what: str, alpha: float) -> pl.DataFrame:
    """Return the table with q and verdict of a change that has a p but no verdict, by Holm's method by measure.

    what: prefix of the columns of the change, which is `change`, `size` or `beyond`.
    """
    judged = []
    for part in table.with_row_index("place").partition_by("measure", maintain_order=True):
        open_rows = (
            pl.col(f"{what}_p").is_not_null()
            & pl.col(f"{what}_verdict").is_null()
            & (pl.col("model") != BASE)
        )
        found = part.filter(open_rows)
        if found.height:
            q = holm(found[f"{what}_p"].to_numpy())
            null = 1.0 if what == "change" and is_perplexity(part["measure"][0]) else 0.0
            moved = [
                NOT_DETECTED if value > alpha else HIGHER if change > null else LOWER
                for value, change in zip(q, found[what].to_list(), strict=True)
            ]
            found = found.with_columns(
                pl.Series(f"{what}_q", q, dtype=pl.Float64),
                pl.Series(f"{what}_verdict", moved, dtype=pl.String),
            )
        judged += [found, part.filter(~open_rows)]
    return pl.concat(judged).sort("place").drop("place") if judged else table


def is_perplexity(measure: str) -> bool:
    """Return whether a measure is a perplexity, whose changes are ratios.

    >>> is_perplexity("redditbias_lmp"), is_perplexity("own_lines_perplexity"), is_perplexity("dst_f1")
    (True, True, False)
    """
    return measure.startswith("redditbias_lmp") or measure.endswith("_perplexity")
