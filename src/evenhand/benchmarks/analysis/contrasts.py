"""Compare two groups of an axis within templates, so that effects of the template on both groups cancel."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import polars as pl

from evenhand.measures import explain_contrast_by_missing
from evenhand.schema import Measurement
from evenhand.stats.contrasts import detectable_by_flips, flipped_mean

UNIT = "percentage points"


def paired_contrasts(
    responses: pl.DataFrame,
    measure: str,
    *,
    order: Sequence[str] = (),
    by: str = "template",
    level: float = 0.05,
) -> list[Measurement]:
    """Return the difference of the negative rates (first minus second) for each axis with exactly two groups.

    Parameters
    ----------
    responses
        One row per response with axis, group, `by` and negative (Boolean, null: missing).
    order
        Groups that come first in the difference, if they occur. Other groups are in alphabetical order.
    by
        Column within whose values the two groups are paired. The values are treated as a random sample.
    level
        Significance level of an axis.

    Returns
    -------
    list of Measurement
        One row per axis, in percentage points: null 0, p and 95% CI by sign flips. There is no test with fewer than two
        complete pairs, or if sign flips of so few pairs cannot reach the level.
    """
    ranks = {name: place for place, name in enumerate(order)}
    rows = []
    for (axis,), part in responses.sort("axis").group_by("axis", maintain_order=True):
        groups = sorted(part["group"].drop_nulls().unique(), key=lambda g: (ranks.get(g, len(ranks)), g))
        if axis is None or len(groups) != 2:
            continue
        rates = part.group_by(by, "group").agg(pl.col("negative").mean()).sort(by)
        sides = [rates.filter(pl.col("group") == group).select(by, "negative") for group in groups]
        pairs = sides[0].join(sides[1], on=by, suffix="_second").drop_nulls()
        differences = 100.0 * (pairs["negative"] - pairs["negative_second"]).to_numpy()
        missing = part["negative"].null_count()
        row = Measurement(
            measure=measure,
            axis=str(axis),
            group=f"{groups[0]} − {groups[1]}",
            estimate=float(differences.mean()) if len(differences) else None,
            n=part.height - missing,
            n_missing=missing,
            n_units=len(differences),
            null=0.0,
            ideal=0.0,
            unit=UNIT,
        )
        sides_of = pairs.select("negative", "negative_second").to_numpy().astype(np.float64)
        rate = float(sides_of.mean()) if len(sides_of) else 0.0
        tested = _add_test(row, differences, by, level, rate)
        rows.append(
            replace(tested, obstacle=tested.obstacle or _explain_by_missing(tested, part, groups, pairs, by))
        )
    return rows


def _explain_by_missing(
    row: Measurement, part: pl.DataFrame, groups: Sequence[str], pairs: pl.DataFrame, by: str
) -> str | None:
    """Return the reason why a row is not measurable, if missing responses could explain its difference; else None."""
    if row.low is None or row.high is None:
        return None
    lacking = part.group_by(by, "group").agg(missing=pl.col("negative").is_null().mean())
    sides = [lacking.filter(group=group).select(by, "missing") for group in groups]
    both = sides[0].join(sides[1], on=by, suffix="_second").sort(by)
    missing = [both[name].to_numpy() for name in ("missing", "missing_second")]
    rates = [float(pairs[name].mean()) for name in ("negative", "negative_second")]  # type: ignore[arg-type]
    return explain_contrast_by_missing(groups, rates, missing, row.low / 100, row.high / 100, paired=True)


def _add_test(
    row: Measurement, differences: npt.NDArray[np.float64], by: str, level: float, rate: float
) -> Measurement:
    count = len(differences)
    if count < 2:
        return replace(row, obstacle=f"Fewer than two {by}s have classified responses about both groups.")
    found = flipped_mean(differences)
    if found.smallest_p > level:
        return replace(
            row,
            obstacle=f"With only {count} {by}s, p cannot be smaller than {found.smallest_p:.2g}, and {level:.2g} is "
            "required.",
        )
    if not differences.any():
        return replace(
            row, obstacle=f"Both groups have the same rate in every {by}, so there is no variation to test."
        )
    reach = 100 * detectable_by_flips(found.standard_error / 100, count, level, rate)
    return replace(
        row,
        low=found.low,
        high=found.high,
        p=found.p,
        axis_p=found.p,
        minimum_detectable=reach if reach > 0 else None,
    )
