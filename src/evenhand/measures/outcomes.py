"""Checks what comes in: responses judged negative or not, and who they are about."""

import polars as pl

from evenhand.measures.columns import require_columns
from evenhand.schema import DataError


def negative_outcomes(frame: pl.DataFrame, measure: str) -> pl.DataFrame:
    """The rows of `frame` with `axis` (null if the frame has none), `group` and `negative` (1, 0 or null).

    Other columns and the order of rows stay. A judgement that is null or NaN is null: missing, to be counted.
    Raises DataError for absent columns, no rows, unnamed groups, no judgement at all, or one other than 0 and 1.

    >>> negative_outcomes(pl.DataFrame({"group": ["a", "b"], "negative": [True, None]}), "m")["negative"].to_list()
    [1.0, None]
    """
    require_columns(frame, ["group", "negative"], measure)
    for name in ("axis", "group"):
        if name in frame.columns and frame[name].null_count():
            raise DataError(f"{measure} found rows without {name}.", "Fill or drop these rows.")
    if not (frame.schema["negative"].is_numeric() or frame.schema["negative"] in (pl.Boolean, pl.Null)):
        raise DataError(
            f"{measure} needs 1 (negative) or 0 in the column negative, which holds {frame.schema['negative']}.",
            'Compare the label first: pl.col("label") == "negative".',
        )
    axis = pl.col("axis").cast(pl.String) if "axis" in frame.columns else pl.lit(None, pl.String)
    checked = frame.with_columns(
        axis.alias("axis"),
        pl.col("group").cast(pl.String),
        pl.col("negative").cast(pl.Float64).fill_nan(None),
    )
    known = checked["negative"].drop_nulls()
    if known.is_empty():
        raise DataError(f"{measure} found no judgement: negative is missing in all rows.")
    strange = known.filter(~known.is_in([0.0, 1.0]))
    if len(strange):
        raise DataError(
            f"{measure} found {strange[0]:g} in the column negative; a judgement is 1, 0 or missing.",
            "Put scores through a threshold first: pl.col('score') >= 0.5.",
        )
    return checked
