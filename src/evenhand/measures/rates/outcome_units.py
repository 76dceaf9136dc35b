"""Make sampling units from rows of classified responses: samples of a prompt (template, noun) averaged, and missing
shares.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from evenhand.measures.columns import (
    RATES_OR_NUMBERS,
    cluster_column,
    negative_outcomes,
    outcomes_of,
    require_columns,
)
from evenhand.schema import UsageError
from evenhand.stats import Codes, Floats
from evenhand.stats.disparity import Units, missing_shares


@dataclass(frozen=True)
class AxisUnits:
    """Sampling units of one axis. Arrays have one entry per group, in the order of the names (groups,).

    Attributes
    ----------
    n, n_missing
        Numbers of rows with and without an outcome.
    filled
        Mean of each group if missing samples were 0, and the increase of this mean if they were 1. The increase is the
        mean share of missing samples of the group's units.
    missing_share, missing_error
        Share of missing samples, compared within strata if outcomes are, and its standard error.
    n_sampled
        Number of units that were sampled, also those without any outcome.
    inside
        Name of the strata, or None.
    shared
        Number of clusters that occur in several groups and are not strata.
    deviations
        For each group its numbers minus their mean, sorted, without the differences between strata. Empty for rates.
    """

    axis: str | None
    names: tuple[str, ...]
    units: Units
    n: Floats
    n_missing: Floats
    filled: tuple[Floats, Floats]
    missing_share: Floats
    missing_error: Floats
    n_sampled: Floats
    inside: str | None = None
    shared: int = 0
    deviations: tuple[Floats, ...] = ()


def unit_name(cluster: str | None) -> str:
    """Return the name of a unit in sentences.

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
    numbers: bool = False,
) -> tuple[list[AxisUnits], str | None]:
    """Return the units of every axis, sorted by axis, and the column that identifies them.

    Parameters
    ----------
    frame : polars.DataFrame
        ``group``, ``negative`` (null or NaN is missing) and, if there are several axes, ``axis``.
    cluster : str, optional
        Column with the sampling unit. Default: prompt_id if present, else each row. A unit is a value of this column in
        a group. If a cluster contains several prompts, each prompt is averaged first.
    strata : sequence of str
        Columns to hold fixed.
    crossed : bool
        True if clusters may be strata (see Notes).
    numbers : bool
        True if outcomes are numbers in their own unit. False: they must be 0 or 1.

    Raises
    ------
    DataError
        A column is missing or has other outcomes.
    UsageError
        A unit is in two strata.

    Notes
    -----
    If most clusters occur in several groups and connect all groups of an axis, they become strata: groups are compared
    within them. Clusters that occur in a single group form one further stratum. This is not done in two cases: all rows
    of each cluster have the same outcome (one response about several groups), or a column `template` shows that equal
    cluster names in several groups mean different things. Without that column, the second case cannot be detected. The
    test is then still valid, but has less power.
    """
    outcomes = outcomes_of(frame, measure) if numbers else negative_outcomes(frame, measure, RATES_OR_NUMBERS)
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
    made_from = "template" if "template" in frame.columns and cluster != "template" else None
    summary += [pl.col(made_from).min().alias("_made")] if made_from else []
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
            *([pl.col("_made").min()] if made_from else []),
        )
    if table["several"].any():
        raise UsageError(
            f"{measure}: within one group, a {unit_name(cluster)} has several values in the column "
            f"{' or '.join(strata)}, which was given as strata.",
            f"Each {unit_name(cluster)} of a group must belong to one stratum. Split it, or leave the column out of "
            "strata.",
        )
    table = table.sort(*keys, "_unit")
    parts = table.partition_by("axis", maintain_order=True)
    numbers_of = [
        rows.filter(pl.col("axis").eq_missing(pl.lit(part["axis"][0]))) if numbers else None for part in parts
    ]
    return [
        _axis(part, mine, strata, cluster if crossed else None)
        for part, mine in zip(parts, numbers_of, strict=True)
    ], cluster


def _axis(
    part: pl.DataFrame, numbers: pl.DataFrame | None, fixed: Sequence[str], cluster: str | None
) -> AxisUnits:
    """Return the units of one axis; `numbers` are its rows if outcomes are numbers, and None for rates."""
    names = part["group"].unique().sort().to_list()
    place = {name: code for code, name in enumerate(names)}
    part = part.with_columns(code=pl.col("group").replace_strict(place, return_dtype=pl.Int64))
    known = part.filter(pl.col("value").is_not_null())
    code = known["code"].to_numpy()
    strata, inside, shared = None, None, 0
    if fixed:
        inside = " and ".join(name.replace("_", " ") for name in fixed)
        strata = known["stratum"].to_numpy().astype(np.int64)
    elif cluster is not None:
        shared = int((known["_unit"].value_counts()["count"] > 1).sum())
        strata = _cluster_strata(known, shared)
        inside, shared = (None, shared) if strata is None else (unit_name(cluster), 0)
    units = Units.from_arrays(
        known["value"].to_numpy(),
        code,
        n_groups=len(names),
        strata=strata,
        samples=known["n"].to_numpy(),
        shares=numbers is None,
    )
    deviations: tuple[Floats, ...] = ()
    if numbers is not None:
        held = pl.lit(0) if strata is None else pl.col("_stratum" if fixed else "_unit")
        of_groups = _deviations(numbers, held)
        deviations = tuple(of_groups.get(name, np.zeros(0)) for name in names)
    rows = part["n"] + part["missing"]
    groups, count = part["code"].to_numpy(), len(names)
    of_units = np.maximum(np.bincount(groups, minlength=count), 1)
    lowest = (part["value"].fill_null(0.0) * part["n"] / rows).to_numpy()
    slope = (part["missing"] / rows).to_numpy()

    def summed(values: Floats) -> Floats:
        return np.asarray(np.bincount(groups, weights=values, minlength=count), dtype=np.float64)

    held_of_all = None
    if fixed:
        held_of_all = part["stratum"].to_numpy()
    elif strata is not None:  # clusters are strata; those of a single group form one stratum
        held_of_all = (
            part.select(pl.when(pl.len().over("_unit") > 1).then("_unit")).to_series().fill_null(0).to_numpy()
        )
    absent, error = missing_shares(Units.from_arrays(slope, groups, n_groups=count, strata=held_of_all))
    return AxisUnits(
        axis=part["axis"][0],
        names=tuple(names),
        units=units,
        n=summed(part["n"].to_numpy()),
        n_missing=summed(part["missing"].to_numpy()),
        filled=(summed(lowest) / of_units, summed(slope) / of_units),
        missing_share=absent,
        missing_error=error,
        n_sampled=of_units.astype(np.float64),
        inside=inside,
        shared=shared,
        deviations=deviations,
    )


def _deviations(rows: pl.DataFrame, held: pl.Expr) -> dict[str, Floats]:
    """Return for each group its known numbers minus their mean, sorted. `held` is the stratum of a row.

    Numbers are compared within strata, so the mean of each stratum is subtracted first. The result is scaled up,
    because that mean includes the number itself.
    """
    known = rows.filter(pl.col("negative").is_not_null()).with_columns(_held=held)
    count = pl.len().over("_held")
    inside = known.filter(count > 1).with_columns(
        _left=pl.col("negative") - pl.col("negative").mean().over("_held"),
        _scale=(count / (count - 1)).sqrt(),
    )
    inside = inside.with_columns(
        _left=(pl.col("_left") - pl.col("_left").mean().over("group")) * pl.col("_scale")
    )
    sorted_rows = inside.sort("group", "_left").partition_by("group", as_dict=True)
    return {str(name): table["_left"].to_numpy() for (name,), table in sorted_rows.items()}


def _cluster_strata(known: pl.DataFrame, shared: int) -> Codes | None:
    """Return one stratum per cluster (units,) if most clusters occur in several groups, otherwise None.

    All clusters of a single group form one further stratum. `known` has one row per cluster and group, with _unit,
    code, value and optionally _made.
    """
    several = pl.len().over("_unit") > 1
    clusters = known["_unit"].rank("dense").to_numpy().astype(np.int64) - 1
    count, groups = int(clusters.max(initial=-1)) + 1, known["code"].n_unique()
    if shared < 2 or 2 * shared <= count or known.height - groups - count < 0:
        return None
    inside = known.filter(several).group_by("_unit").agg(pl.col("value").max() - pl.col("value").min())
    if not inside["value"].max() > 0:  # type: ignore[operator]
        return None
    if "_made" in known.columns:
        made = known.filter(several).group_by("_unit").agg(pl.col("_made").n_unique())["_made"]
        if 2 * int((made > 1).sum()) > shared:
            return None
    together = known.select(several).to_series().to_numpy()
    code = known["code"].to_numpy()[together]
    width = int(known["code"].max()) + 1  # type: ignore[arg-type]
    shape = (width + count, width + count)
    ties = coo_array((np.ones(len(code)), (code, width + clusters[together])), shape=shape)
    parts = connected_components(ties, directed=False)[1][np.unique(known["code"].to_numpy())]
    return None if np.ptp(parts) else np.where(together, clusters, count)
