"""How much changed between two models that answered the same prompts: overall, by axis, by group, paired.

The same question to both models cancels what the prompts themselves do, so a change is seen with far fewer
answers than two separate rates would need.
"""

import numpy as np
import polars as pl
from scipy.special import erfc

from evenhand.measures.columns import require_columns
from evenhand.schema import DataError, UsageError
from evenhand.stats import Floats, cluster_t, detectable_mean_difference, sign_flip_test

CHANGE = {
    "axis": pl.String,  # null: over all
    "group": pl.String,  # null: the axis as a whole
    "before": pl.Float64,
    "after": pl.Float64,
    "estimate": pl.Float64,  # after - before
    "low": pl.Float64,
    "high": pl.Float64,
    "relative": pl.Float64,  # estimate / before
    "p": pl.Float64,
    "n": pl.Int64,  # pairs with both numbers
    "n_prompts": pl.Int64,
    "n_missing": pl.Int64,  # pairs that lack one
    "minimum_detectable": pl.Float64,
}
MOSTLY_UNMOVED = 0.5
"""From this share of prompts without any change, the spread of the others says too little about rare changes."""
MISSED_OFTEN = 1.4
"""A change of the interval's half-width is found half the time; one larger by this factor, four times in five."""
FEW = 60
"""Prompts with a change, up to which signs are flipped one by one; beyond, the normal limit of the same test."""


def paired_change(
    frame: pl.DataFrame, *, cluster: str = "prompt_id", level: float = 0.95, seed: int = 0
) -> pl.DataFrame:
    """Change from one model to another on the same prompts and samples, with intervals and paired tests.

    frame: one row per answer of both models: `before` and `after` (a judgement 1 or 0, a score, or any number; null
    or NaN: missing, counted), the column `cluster` whose rows hang together, and, if there are groups, `axis` and
    `group` (null where an answer is about none). A row about two groups comes twice, once in each; the rows over an
    axis and over all then count it once, if there is a column `pair` that tells pairs apart. level: coverage of the
    interval.
    Returns CHANGE: one row over all, one for each axis, one for each group. The interval is Student's t over
    clusters; where nearly no pair differs, never narrower than what so many clusters without any change could
    hide. p is the sign-flip test over clusters (exact McNemar's for single 0/1 pairs); `minimum_detectable` the
    change found with 80 % power.
    Raises DataError for absent columns or no pair at all, UsageError for a level outside 0..1.
    Source: Fisher 1935, section 21 (sign flips); Miller 2024, arXiv:2411.00640, section 4 (paired differences).

    >>> frame = pl.DataFrame({"prompt_id": range(40), "before": [1] * 20 + [0] * 20,
    ...                       "after": [0] * 15 + [1] * 5 + [0] * 20})
    >>> paired_change(frame).select("before", "after", "estimate", "relative", "n").row(0)
    (0.5, 0.125, -0.375, -0.75, 40)
    """
    require_columns(frame, ["before", "after", cluster], "paired_change")
    if not 0 < level < 1:
        raise UsageError(f"level is {level}; a coverage lies between 0 and 1.")
    values = frame.with_columns(
        pl.col(name).cast(pl.Float64).fill_nan(None) for name in ("before", "after")
    ).with_columns(_change=pl.col("after") - pl.col("before"))
    if values["_change"].null_count() == values.height:
        raise DataError(
            "paired_change found no pair with both numbers.",
            "Both models must have answered the same prompts; compare their prompt_id columns.",
        )
    rows = [_row(_once(values, []), cluster, level, seed) | {"axis": None, "group": None}]
    if "axis" in values.columns:
        about = values.filter(pl.col("axis").is_not_null())
        for (axis,), part in _once(about, ["axis"]).group_by("axis", maintain_order=True):
            rows.append(_row(part, cluster, level, seed) | {"axis": axis, "group": None})
    if "group" in values.columns:
        keys = ["axis", "group"] if "axis" in values.columns else ["group"]
        about = values.filter(pl.col("group").is_not_null())
        for names, part in _once(about, keys).group_by(keys, maintain_order=True):
            axis = names[0] if len(keys) == 2 else None
            rows.append(_row(part, cluster, level, seed) | {"axis": axis, "group": names[-1]})
    return pl.DataFrame(rows, schema=CHANGE).with_columns(pl.col(pl.Float64).fill_nan(None))


def _once(values: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    if "pair" not in values.columns:
        return values
    return values.unique(["pair", *keys], keep="first", maintain_order=True)


def _row(part: pl.DataFrame, cluster: str, level: float, seed: int) -> dict[str, float | int | None]:
    known = part.filter(pl.col("_change").is_not_null())
    row: dict[str, float | int | None] = {
        "n": known.height,
        "n_missing": part.height - known.height,
        "n_prompts": known[cluster].n_unique(),
    }
    if known.is_empty():
        return row
    sums = known.group_by(cluster, maintain_order=True).agg(pl.col("_change").sum(), n=pl.len())
    change, sizes = sums["_change"].to_numpy(), sums["n"].to_numpy().astype(np.float64)
    before, estimate = float(known["before"].to_numpy().mean()), float(change.sum() / sizes.sum())
    low, high, error, floor = _interval(change, sizes, estimate, level, _largest(known, change, sizes))
    detectable = None
    if len(change) > 1 and error > 0:
        spread = error * len(change) ** 0.5
        detectable = max(float(detectable_mean_difference(spread, len(change))), MISSED_OFTEN * floor)
    return row | {
        "before": before,
        "after": before + estimate,
        "estimate": estimate,
        "low": low,
        "high": high,
        "relative": estimate / before if before else None,
        "p": _sign_flip(change, seed),
        "minimum_detectable": detectable,
    }


def _largest(known: pl.DataFrame, change: Floats, sizes: Floats) -> float | None:
    """How much a prompt changes that does, where most show no change at all; None where most do.

    The most that one did, or one answer's worth if none did. For judgements and means of judgements only.
    """
    numbers = np.concatenate([known["before"].to_numpy(), known["after"].to_numpy()])
    if numbers.min() < 0 or numbers.max() > 1:
        return None
    moved = np.abs(change / sizes)
    alike = bool(np.ptp(change / sizes) == 0)  # all prompts changed by as much: the next one need not
    if np.mean(change == 0) < MOSTLY_UNMOVED and not alike:
        return None
    return float(moved.max() if change.any() else (1 / sizes).max())


def _interval(
    change: Floats, sizes: Floats, estimate: float, level: float, largest: float | None
) -> tuple[float, float, float, float]:
    """low, high, standard error, and the least half-width."""
    clusters = len(change)
    if clusters < 2:
        return float("nan"), float("nan"), 0.0, 0.0
    residual = change - estimate * sizes
    spread = cluster_t(residual, sizes.sum())
    error, half, floor = float(spread.standard_error), float(spread.half_width(level)), 0.0
    if largest is not None:
        # So many prompts without a change are likely up to this share of prompts that change (Clopper-Pearson at 0).
        floor = largest * (1 - ((1 - level) / 2) ** (1 / clusters))
        half = max(half, floor)
        return max(estimate - half, -1.0), min(estimate + half, 1.0), error, floor
    return estimate - half, estimate + half, error, floor


def _sign_flip(change: Floats, seed: int) -> float:
    moved = change[change != 0]
    if not len(moved):
        return 1.0
    if len(moved) <= FEW:
        return float(sign_flip_test(np.sort(moved), seed=seed)[1][0])
    z = abs(moved.sum()) / float(np.sqrt(np.sum(moved**2)))
    return float(erfc(z / 2**0.5))
