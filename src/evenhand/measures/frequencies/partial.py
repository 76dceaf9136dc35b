"""Control variables of descriptors, and their outcomes as a table of descriptors by templates."""

import numpy as np
import polars as pl

from evenhand.stats import Floats
from evenhand.stats.associations import centred_means

CONTROLS = ("characters", "words", "parts", "tokens", "answers")
PARTS = r"[^\s\-/\x{2010}\x{2011}\x{2013}]+"
"""Pattern of the parts of a descriptor; hyphens and slashes separate words too."""


def controls_of(points: pl.DataFrame) -> tuple[Floats, list[str]]:
    """Return the control variables (n, c) and their names: those that are known for all descriptors and vary within an
    axis.

    >>> numbers = {"characters": [3, 5], "words": [1, 1], "parts": [1, 1], "tokens": [None, 2], "answers": [9, 9]}
    >>> points = pl.DataFrame({"axis": ["a", "a"], **numbers})
    >>> controls_of(points)[1]
    ['characters']
    """
    varies = [
        name
        for name in CONTROLS
        if not points[name].null_count()
        and points.group_by("axis").agg(pl.col(name).n_unique())[name].max() not in (None, 1)
    ]
    return points.select(pl.col(varies).cast(pl.Float64)).to_numpy().reshape(
        points.height, len(varies)
    ), varies


def outcome_matrix(frequencies: pl.DataFrame, outcome: pl.DataFrame) -> tuple[pl.DataFrame, Floats]:
    """Return the descriptors that have a frequency and a response, and their values by template.

    Returns two tables. ``points`` is sorted by axis and descriptor and has all columns of `frequencies`, `bucket` (a
    separate one if unknown), characters, words, parts (separated by hyphens and slashes too), answers (sum) and value.
    ``values`` has the shape (n, t) and is NaN if a template has no value of a descriptor.
    """
    known = outcome.filter(pl.col("value").is_finite()).with_columns(pl.col("template").fill_null(""))
    cells = (
        known.group_by("axis", "descriptor", "template")
        .agg((pl.col("value") * pl.col("answers")).sum() / pl.col("answers").sum(), pl.col("answers").sum())
        .join(frequencies, on=["axis", "descriptor"], how="inner")
        .filter(pl.col("documents").is_not_null())
    )
    points = (
        cells.group_by("axis", "descriptor")
        .agg(pl.col("answers").sum(), *(pl.col(name).first() for name in _frequency_columns(frequencies)))
        .sort("axis", "descriptor")
        .with_columns(
            pl.coalesce("bucket", "descriptor").alias("bucket"),
            characters=pl.col("descriptor").str.len_chars(),
            words=pl.col("descriptor").str.count_matches(r"\S+"),
            parts=pl.col("descriptor").str.count_matches(PARTS),
        )
    )
    places = points.select("axis", "descriptor").with_row_index("place")
    templates = cells["template"].unique().sort()
    at = cells.join(places, on=["axis", "descriptor"]).with_columns(
        column=pl.col("template").replace_strict(
            templates, pl.Series(range(len(templates))), return_dtype=pl.Int64
        )
    )
    values = np.full((points.height, max(1, len(templates))), np.nan)
    if at.height:
        values[at["place"].to_numpy(), at["column"].to_numpy()] = at["value"].to_numpy()
    # differences between axes remain here; comparisons within axes remove them
    means = centred_means(values, np.zeros(points.height, np.int64))
    means = means + (np.nanmean(values) if points.height else 0.0)
    return points.with_columns(value=pl.Series(means, dtype=pl.Float64)), values


def _frequency_columns(frequencies: pl.DataFrame) -> list[str]:
    return [name for name in frequencies.columns if name not in ("axis", "descriptor", "answers")]
