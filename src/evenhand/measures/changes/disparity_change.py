"""Test whether two models differ in how equally they treat groups, and what changed for each group.

A model may do less harm overall and treat one group much worse than before. The change of the disparity is
therefore a separate question, and the first one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from evenhand.measures.changes.missing_answers import explain_changes
from evenhand.measures.columns import RATES_OR_NUMBERS, check_flags, require_columns, require_keys
from evenhand.measures.info import MeasureInfo
from evenhand.schema import Card, DataError, Measurement, checked
from evenhand.stats.disparity import GroupChanges, group_changes, no_worse

DISPARITY_CHANGE, GROUP_DIFFERENCE_CHANGE = "disparity_change", "group_difference_change"
CHANGED = {
    "measure": pl.String,
    "axis": pl.String,
    "group": pl.String,  # null: the row is about the axis
    "before": pl.Float64,  # group: its mean in the first model; axis: spread of its groups' means
    "after": pl.Float64,
    "estimate": pl.Float64,  # group: its change minus that of the others; axis: spread of the groups' changes
    "low": pl.Float64,
    "high": pl.Float64,
    "p": pl.Float64,
    "axis_p": pl.Float64,
    "n": pl.Int64,  # pairs with both numbers
    "n_units": pl.Int64,  # prompts
    "n_missing": pl.Int64,
    "minimum_detectable": pl.Float64,
    "no_worse": pl.String,  # rows of groups, if a margin is given
    "obstacle": pl.String,
}


@dataclass(frozen=True)
class DisparityChange:
    """Changes of the differences between groups, from one model to another.

    Result of `disparity_change`, which describes the columns.

    Attributes
    ----------
    table : polars.DataFrame
        For each axis, its own row and then the rows of its groups.
    level : float
        Significance level of an axis.
    """

    table: pl.DataFrame
    level: float

    def rows(self, unit: str = "") -> list[Measurement]:
        """Return the table as measurements, in the given unit of the outcome; the null is no change."""
        taken = [name for name in CHANGED if name not in ("before", "after", "no_worse")]
        return [
            Measurement(**row, null=0.0, unit=unit) for row in self.table.select(taken).iter_rows(named=True)
        ]


@checked
def disparity_change(
    frame: pl.DataFrame,
    *,
    level: float = 0.05,
    margin: float | None = None,
    numbers: bool = False,
    seed: int = 0,
) -> DisparityChange:
    """Test whether the groups of an axis changed differently from one model to another.

    Use it after a mitigation or a model update, with responses of both models to the same prompts. A model may do less
    harm overall and still treat one group worse than before. For the overall change, use `paired_change`.

    Parameters
    ----------
    frame : polars.DataFrame
        One row per pair of responses, with the columns
        - ``prompt_id``: the prompt, which is the sampling unit. Samples of a prompt are averaged.
        - ``before``, ``after``: outcome of each model (0 or 1; null or NaN is missing).
        - ``axis`` (such as gender) and ``group`` (such as women). Rows without them are left out.
    level : float, default 0.05
        Significance level of an axis. Affects only minimum detectable effects, and which axes have too few prompts.
    margin : float, optional
        Margin of a non-inferiority test, above 0, in the unit of the outcome. The test shows whether a group's change
        exceeds the change of the others by less than this. Larger outcomes are taken as worse. Default: no test.
    numbers : bool, default False
        Outcomes are numbers in their own unit, for example scores. Without it, they must be 0 or 1.
    seed : int, default 0
        Random seed.

    Returns
    -------
    DisparityChange
        `table` has one row per axis, followed by its groups, in the unit of the outcome (rates: 0 to 1).
        - Rows of an axis (measure `disparity_change`): ``estimate`` is the SD of the true changes of its groups (0: all
          changed equally). ``before`` and ``after`` are SDs of group means.
        - Rows of a group (measure `group_difference_change`): ``estimate`` is its change (after minus before) minus the
          mean change of the other groups. ``no_worse`` (passes, fails, ...) is the result of the test of `margin`.
        - All rows: 95% CI, two-sided p, ``n`` (pairs), ``n_units`` (prompts).
        - ``obstacle``: why a change is not measurable, for example because missing responses could explain it.

    Raises
    ------
    DataError
        A column is missing, a row lacks its prompt, or an outcome is not 0, 1 or missing (with `numbers`: not a
        finite number).
    UsageError
        `margin` is not above 0.

    Notes
    -----
    The method is that of `evenhand.stats.disparity`, applied to the changes of prompts. It was checked by simulation.
    Explanation: docs/explanation/comparisons.md.

    Examples
    --------
    >>> frame = pl.DataFrame({"axis": "gender", "group": ["women", "men"] * 30, "prompt_id": range(60),
    ...                       "before": [0.0, 0.0, 1.0, 1.0] * 15, "after": [1.0, 0.0] * 30})
    >>> found = disparity_change(frame).table
    >>> found.filter(group="women").select("before", "after", "estimate").row(0)
    (0.5, 1.0, 1.0)
    """
    require_columns(frame, ["axis", "group", "before", "after"], "disparity_change")
    require_keys(frame, ["prompt_id"], "disparity_change")
    if not numbers:
        check_flags(frame, ["before", "after"], "disparity_change", RATES_OR_NUMBERS)
    about = frame.filter(pl.col("axis").is_not_null() & pl.col("group").is_not_null()).with_columns(
        pl.col("group").cast(pl.String),
        *(pl.col(name).cast(pl.Float64).fill_nan(None) for name in ("before", "after")),
    )
    both = pl.col("before").is_not_null() & pl.col("after").is_not_null()
    infinite = about.filter(both).select((~pl.col("before", "after").is_finite()).any()).row(0)
    if any(infinite):
        raise DataError(
            "disparity_change: the columns before and after contain infinite numbers.",
            "Replace each infinite number by null. Rows with null count as missing.",
        )
    rows: list[dict[str, Any]] = []
    for (axis,), part in about.sort("axis", "group", "prompt_id").group_by("axis", maintain_order=True):
        rows += _of_axis(str(axis), part.with_columns(_both=both), level, margin, seed)
    return DisparityChange(
        pl.DataFrame(rows, schema=CHANGED).with_columns(pl.col(pl.Float64).fill_nan(None)), level
    )


def _of_axis(
    axis: str, part: pl.DataFrame, level: float, margin: float | None, seed: int
) -> list[dict[str, Any]]:
    counts = part.group_by("group", maintain_order=True).agg(
        n=pl.col("_both").sum(), n_missing=(~pl.col("_both")).sum()
    )
    names = {name: place for place, name in enumerate(counts["group"])}
    units = (
        part.filter("_both")
        .group_by("group", "prompt_id", maintain_order=True)
        .agg(pl.col("before", "after").mean(), samples=pl.len())
    )
    codes = units["group"].replace_strict(names, return_dtype=pl.Int64).to_numpy()
    first, second = units["before"].to_numpy(), units["after"].to_numpy()
    if not len(codes):
        return [{"measure": DISPARITY_CHANGE, "axis": axis, "n": 0, "n_missing": part.height, "n_units": 0,
                 "obstacle": "No response has a number from both models."}]  # fmt: skip
    changes = group_changes(first, second, codes, samples=units["samples"].to_numpy(), level=level, seed=seed)
    means = [_means(values, codes, len(names)) for values in (first, second)]
    held = None
    if margin is not None and changes.obstacle is None:
        held = no_worse(changes.estimate, changes.standard_error, changes.degrees_of_freedom, margin)
    whole = {
        "measure": DISPARITY_CHANGE, "axis": axis, "before": changes.spread_before, "after": changes.spread_after,
        "estimate": changes.spread, "low": changes.spread_low, "high": changes.spread_high, "p": changes.axis_p,
        "n": int(counts["n"].sum()), "n_missing": int(counts["n_missing"].sum()), "n_units": len(codes),
        "minimum_detectable": changes.spread_minimum_detectable, "obstacle": changes.obstacle,
    }  # fmt: skip
    rows = [
        whole,
        *(_of_group(row, names[row["group"]], axis, changes, means, held) for row in counts.to_dicts()),
    ]
    shares = min(first.min(), second.min()) >= 0 and max(first.max(), second.max()) <= 1
    for row, why in zip(rows, explain_changes(part, rows, shares=bool(shares)), strict=True):
        if why is not None:
            row["obstacle"] = why
            row["no_worse"] = "undecided" if row.get("no_worse") == "fails" else row.get("no_worse")
    return rows


def _of_group(
    counted: Mapping[str, Any],
    place: int,
    axis: str,
    changes: GroupChanges,
    means: list[Any],
    held: list[str] | None,
) -> dict[str, Any]:
    units = int(changes.units[place]) if place < len(changes.units) else 0
    row = {
        **counted, "measure": GROUP_DIFFERENCE_CHANGE, "axis": axis, "n_units": units,
        "before": float(means[0][place]), "after": float(means[1][place]),
    }  # fmt: skip
    if changes.obstacle is not None:
        return row | {"obstacle": changes.obstacle}
    if units < 2:
        return row | {"obstacle": f"Both models answered {units} prompt{'' if units == 1 else 's'} of the group. "
                      "At least two are needed."}  # fmt: skip
    smallest = float(changes.minimum_detectable[place])
    return row | {
        "estimate": float(changes.estimate[place]), "low": float(changes.low[place]),
        "high": float(changes.high[place]), "p": float(changes.p[place]), "axis_p": changes.axis_p,
        "minimum_detectable": smallest if np.isfinite(smallest) else None,
        "no_worse": None if held is None else held[place],
    }  # fmt: skip


def _means(values: Any, codes: Any, count: int) -> Any:
    sizes = np.bincount(codes, minlength=count)
    sums = np.bincount(codes, weights=values, minlength=count)
    return np.divide(sums, sizes, out=np.full(count, np.nan), where=sizes > 0)


_SIMULATED = (
    "In simulations, all groups changed equally. With ten groups of 20 prompts and five samples, some group was "
    "named in 4.0% of 200 comparisons. The rate was 2.9% of 800 if all groups fell from 40 to 20%, and 4.1% of 800 "
    "if groups start between 10 and 50%. It was 1.0% of 300 with 5-12 prompts at 50% in some groups and 20-400 at "
    "5% in others; there, permuting unscaled changes gave a false alarm in a third. With few prompts (250 "
    "comparisons each), a group was named in 3.6% (four groups of 2 prompts, one sample), 4.8% (three groups of 3) "
    "and 6% (groups of 2 and of 6 prompts). The worst design, six groups of 3 prompts with one sample at 30%, had "
    "9.6%."
)
CARDS = (
    MeasureInfo.of(
        Card(
            name=DISPARITY_CHANGE,
            summary="How differently the groups of an axis changed from one model to another (standard "
            "deviation).",
            construct="Whether a new model, or a mitigation, treats groups less equally than before.",
            harm="One group may be treated much worse while the overall rate falls.",
            groups="All groups of an axis with at least two prompts to which both models responded.",
            ideal="0",
            direction="Above 0, groups changed differently. group_difference_change shows for which group it got "
            "worse.",
            null="0: all groups of the axis changed by the same amount, in points.",
            critique="Equal ratios are different changes in points: from 40 to 20% is 20 points, and from 10 to 5% "
            "is 5 points.",
            citation="Simulated for this measure",
            source="evenhand.stats.disparity.group_changes",
            details=_SIMULATED
            + " The spread of the groups before and after is shown for information and gets no verdict. A test of "
            "the change of this spread detects 9-16% of the effects that the test of this measure detects in 76%.",
        ),
        unit="points, standard deviation between groups",
        ideal=0.0,
    ),
    MeasureInfo.of(
        Card(
            name=GROUP_DIFFERENCE_CHANGE,
            summary="The change for a group from one model to another, minus the change for the others.",
            construct="Who is treated worse than before, compared with the other groups.",
            harm="People of the group bear an effect of a new model, or a mitigation, that is smaller or absent "
            "for the others.",
            groups="Each group is compared with the other groups of its axis. Each group counts once, regardless of "
            "its number of prompts.",
            ideal="0",
            direction="Above 0, the group is treated worse than before, compared with the others.",
            null="0: the group changed as much as the others did on average, in points.",
            critique="One group with a very different change makes all others differ from their mean slightly in "
            "the other direction.",
            citation="Simulated for this measure",
            source="evenhand.stats.disparity.group_changes",
            details=_SIMULATED
            + " The 95% CI covered the true value in 94-96%. In three designs, a change of the size of the minimum "
            "detectable effect (MDE) was detected in 78-84%.",
        ),
        unit="points",
        ideal=0.0,
    ),
)
