"""Two groups of an axis against each other, template by template: what a template does to both cancels."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import polars as pl

from evenhand.schema import Measurement
from evenhand.stats import detectable_mean_difference, sign_flip_test, standard_errors, t_inference

UNIT = "percentage points"


def paired_contrasts(
    responses: pl.DataFrame,
    measure: str,
    *,
    order: Sequence[str] = (),
    by: str = "template",
    alpha: float = 0.05,
) -> list[Measurement]:
    """Difference of the negative rates of every axis that has just two groups, first minus second.

    responses: one row per response with axis, group, `by` and negative (Boolean, null: missing). order: names that
    come first in a pair, the rest by the alphabet. by: what the two groups are paired in. alpha: the level the
    smallest detectable difference is stated for.
    Returns one row an axis (null 0, p by flipping signs, 95 % t limits over pairs, all in percentage points),
    without estimate where fewer than two pairs are complete.
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
            estimate=None,
            n=part.height - missing,
            n_missing=missing,
            null=0.0,
            ideal=0.0,
            unit=UNIT,
        )
        rows.append(row if len(differences) < 2 else _tested(row, differences, alpha))
    return rows


def _tested(row: Measurement, differences: npt.NDArray[np.float64], alpha: float) -> Measurement:
    mean, p = sign_flip_test(differences)
    error, count = standard_errors(differences[:, None])
    limits = t_inference(mean, error, count - 1)
    reach = detectable_mean_difference(float(differences.std(ddof=1)), len(differences), alpha=alpha)
    return replace(
        row,
        estimate=float(mean[0]),
        # Where all templates agree to the digit, the spread says nothing about the next template.
        low=float(limits.low[0]) if error[0] > 0 else None,
        high=float(limits.high[0]) if error[0] > 0 else None,
        p=float(p[0]),
        minimum_detectable=float(reach) if error[0] > 0 else None,
    )
