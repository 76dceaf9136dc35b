"""From rows of judged responses to units: samples of one prompt (template, noun) averaged, with what is missing."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from evenhand.measures.columns import cluster_column, outcomes_of, require_columns
from evenhand.schema import UsageError
from evenhand.stats import Floats
from evenhand.stats.disparity import Units


@dataclass(frozen=True)
class AxisUnits:
    """The units of one axis: of groups in the order of their names (groups,).

    n, n_missing: judged and missing rows. filled: for each group the mean over all its units, those without any judged
    sample too, if missing samples were 0, and the slope: what it rises by if they were 1 instead. inside: what is held
    fixed, in words, or None.
    """

    axis: str | None
    names: tuple[str, ...]
    units: Units
    n: Floats
    n_missing: Floats
    filled: tuple[Floats, Floats]
    inside: str | None = None


def unit_name(cluster: str | None) -> str:
    """What one unit is called in a sentence.

    >>> unit_name("prompt_id"), unit_name(None), unit_name("template")
    ('prompt', 'response', 'template')
    """
    return "response" if cluster is None else cluster.removesuffix("_id")


def units_of_axes(
    frame: pl.DataFrame,
    measure: str,
    *,
    cluster: str | None = None,
    strata: Sequence[str] = (),
    crossed: bool = True,
) -> tuple[list[AxisUnits], str | None]:
    """The units of every axis, sorted by axis, and the column they were made by.

    frame: group, negative (1, 0, a share or any number; null or NaN: missing) and, if there are several, axis. A
    unit is a value of `cluster` in a group (prompt_id if None and there, else each row); of prompts that lie in a
    wider cluster each prompt is averaged first. strata: columns of what is held fixed. crossed: whether a cluster is
    held fixed itself, groups being compared inside it, where every cluster holds all groups of its axis.
    Raises DataError for absent columns or outcomes that are no numbers, UsageError for a unit in two strata.
    """
    outcomes = outcomes_of(frame, measure)
    cluster = cluster_column(frame, cluster, measure)
    if strata:
        require_columns(frame, strata, measure)
    keys = ["axis", "group"]
    if cluster is None:
        rows = outcomes.with_row_index("_unit")
    else:
        rows = outcomes.with_columns(_unit=pl.col(cluster).rank("dense"))
    stratum = pl.struct(strata).rank("dense") if strata else pl.lit(0)
    rows = rows.with_columns(_stratum=stratum.cast(pl.Int64))
    wider = cluster not in (None, "prompt_id") and "prompt_id" in frame.columns
    summary = [
        pl.col("negative").mean().alias("value"),
        pl.col("negative").count().cast(pl.Float64).alias("n"),
        pl.col("negative").null_count().cast(pl.Float64).alias("missing"),
        pl.col("_stratum").min().alias("stratum"),
        (pl.col("_stratum").n_unique() > 1).alias("several"),
    ]
    if cluster is None:  # each row is a unit
        known = pl.col("negative").is_not_null()
        table = rows.select(
            *keys,
            "_unit",
            value="negative",
            n=known.cast(pl.Float64),
            missing=(~known).cast(pl.Float64),
            stratum="_stratum",
            several=pl.lit(False),
        )
    else:
        table = rows.group_by(*keys, "_unit", *(["prompt_id"] if wider else [])).agg(summary)
    if wider:
        table = table.group_by(*keys, "_unit").agg(
            pl.col("value").mean(),
            pl.col("n", "missing").sum(),
            pl.col("stratum").min(),
            ((pl.col("stratum").n_unique() > 1) | pl.col("several").any()).alias("several"),
        )
    if table["several"].any():
        raise UsageError(
            f"{measure} was asked to hold {' and '.join(strata)} fixed, but a {unit_name(cluster)} lies in several.",
            "Give a cluster that lies within one stratum for each group.",
        )
    table = table.sort(*keys, "_unit")
    shares = bool(table["value"].drop_nulls().is_between(0, 1).all())
    parts = table.partition_by("axis", maintain_order=True)
    return [_axis(part, shares, strata, cluster if crossed else None) for part in parts], cluster


def _axis(part: pl.DataFrame, shares: bool, fixed: Sequence[str], cluster: str | None) -> AxisUnits:
    names = part["group"].unique().sort().to_list()
    place = {name: code for code, name in enumerate(names)}
    part = part.with_columns(code=pl.col("group").replace_strict(place, return_dtype=pl.Int64))
    known = part.filter(pl.col("value").is_not_null())
    code = known["code"].to_numpy()
    strata, inside = None, None
    if fixed:
        inside = " and ".join(name.replace("_", " ") for name in fixed)
        strata = known["stratum"].to_numpy().astype(np.int64)
    elif cluster is not None and known.height == known["_unit"].n_unique() * len(names) > len(names):
        strata, inside = known["_unit"].to_numpy().astype(np.int64), unit_name(cluster)
    units = Units.of(
        known["value"].to_numpy(),
        code,
        n_groups=len(names),
        strata=strata,
        samples=known["n"].to_numpy(),
        shares=shares,
    )
    rows = part["n"] + part["missing"]
    groups, count = part["code"].to_numpy(), len(names)
    of_units = np.maximum(np.bincount(groups, minlength=count), 1)
    lowest = (part["value"].fill_null(0.0) * part["n"] / rows).to_numpy()
    slope = (part["missing"] / rows).to_numpy()

    def summed(values: Floats) -> Floats:
        return np.asarray(np.bincount(groups, weights=values, minlength=count), dtype=np.float64)

    return AxisUnits(
        axis=part["axis"][0],
        names=tuple(names),
        units=units,
        n=summed(part["n"].to_numpy()),
        n_missing=summed(part["missing"].to_numpy()),
        filled=(summed(lowest) / of_units, summed(slope) / of_units),
        inside=inside,
    )
