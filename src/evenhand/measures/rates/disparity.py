"""Test whether the groups of an axis differ in what a model writes about them, and which are treated worse."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from evenhand.measures.columns import typed
from evenhand.measures.rates.classifier_error import counts_of_axis
from evenhand.measures.rates.outcome_units import AxisUnits, unit_name, units_of_axes
from evenhand.measures.rates.robustness import (
    agreeing_share,
    explain_axis,
    explained_by_missing,
    sure_part,
    with_rates_like_differences,
)
from evenhand.measures.rates.two_samples import TwoSamples, over_two_samples
from evenhand.schema import UsageError, checked
from evenhand.stats import NO_COMMON_LEVEL, benjamini_hochberg
from evenhand.stats.disparity import (
    SKEWED,
    Comparison,
    Differences,
    LabelCounts,
    compare_corrected,
    compare_units,
    pairs_of_groups,
)

_AXES = (
    typed(pl.String, "axis")
    | typed(pl.Float64, "estimate low high null p")
    | typed(pl.Int64, "n n_missing n_units n_groups n_reference")
    | typed(pl.Float64, "rate burden gap gap_low gap_high")
    | typed(pl.String, "worst best")
    | typed(pl.Float64, "worst_rate best_rate minimum_detectable")
    | typed(pl.Boolean, "corrected errors_assumed_equal")
    | typed(pl.String, "obstacle note")
)
_GROUPS = (
    typed(pl.String, "axis group")
    | typed(pl.Float64, "estimate low high null p axis_p q rate rate_low rate_high others")
    | typed(pl.Boolean, "worse_than_best")
    | typed(pl.String, "named")
    | typed(pl.Int64, "n n_missing n_units")
    | typed(pl.Float64, "minimum_detectable tolerance missing_share")
    | typed(pl.String, "obstacle note")
)
_PAIRS = typed(pl.String, "axis group other") | typed(pl.Float64, "estimate low high null p q")
ALL_PAIRS_UP_TO = 10
INSIDE = "Groups are compared within each {inside}."
CORRECTED = "Rates are corrected for the classifier's errors, as estimated from labelled texts."
LIKE_THESE = "The effect of a single {inside} on a group counts as chance."
UNEVEN = "Variances differ between groups, so each {unit} counts as one Bernoulli trial."
ELSEWHERE = "The group has no responses in most of the {inside} of the other groups of its axis."
ADJUSTED = "{what} are adjusted for {inside}, because groups have unequal numbers of each."
SHARED = "{shared} {unit}s are in several groups and count in each of them."
ALONE = "There is only one {unit}. At least two are needed."


@dataclass(frozen=True)
class Disparity:
    """Negative rates of groups by axis (such as religion), with tests of their differences.

    Result of `disparity`. ``axes`` shows whether the groups of an axis differ. ``groups`` shows which are treated worse
    or better. Rates are in percent, differences in points (numbers: own unit). ``obstacle``: why nothing was detected,
    or that missing responses could explain a difference. ``note``: assumptions and adjustments.

    Attributes
    ----------
    axes : polars.DataFrame
        One row per axis. ``n``, ``n_missing``: responses. ``n_units``: sampling units.
        - ``estimate``: SD of the groups' true rates, without noise, with 95% CI. ``p`` tests "all groups are equal".
        - ``rate``: mean of the groups' rates. ``burden``: that mean minus the rate of the best-treated group.
        - ``gap``: rate of ``worst`` minus that of ``best``, the pair of groups with the strongest evidence of a large
          difference. Its CI allows for this choice. ``minimum_detectable``: SD that is detected with 80% power.
        - ``corrected``: True if numbers are corrected for classifier errors. ``errors_assumed_equal``: True if a group
          has no error counts of its own, so that those of all groups are used.
        - ``n_reference``: number of groups that do not stand out. 0: there is no common level. Null: no difference was
          found, or there are two groups.
    groups : polars.DataFrame
        One row per group. With two groups, ``pairs`` has the same numbers.
        - ``estimate``: ``rate`` minus ``others``, the mean of the other groups that do not stand out (of all other
          groups if ``n_reference`` is null or 0), each counted once. Above 0, the group is treated worse.
        - ``p``: two-sided. ``axis_p``: p of the axis. ``q``, ``named`` ("worse", "better" or null): adjusted p and
          verdict of `evenhand.stats.reach_verdicts`. ``worse_than_best``: shown to be above some other group.
        - ``tolerance``: excess of false alarms in this group (percentage points) that would explain the part of the
          difference that its CI confirms. For a group treated better, it is a deficit of false alarms.
        - ``missing_share``: percentage of the group's missing responses that must have been negative for the result to
          hold, if those of all other groups were harmless (treated better: vice versa). Above 100: no percentage
          suffices.
    pairs : polars.DataFrame
        ``group`` minus ``other`` with CI, p and q over the pairs of the axis. An axis with more than ten groups has
        only pairs with the reference; one that is corrected for classifier errors has none.
    """

    axes: pl.DataFrame
    groups: pl.DataFrame
    pairs: pl.DataFrame


@checked
def disparity(
    frame: pl.DataFrame,
    *,
    cluster: str | None = None,
    n_axes: int = 1,
    alpha: float = 0.05,
    reference: str | None = None,
    strata: Sequence[str] = (),
    error: pl.DataFrame | None = None,
    numbers: bool = False,
    seed: int = 0,
) -> Disparity:
    """Compare the rates of negative responses between the groups of each axis.

    Test whether a model treats groups differently, and which it treats worse or better (docs/explanation/verdicts.md).

    Parameters
    ----------
    frame : polars.DataFrame
        One row per response; a response about two groups is two rows. Columns: ``group``, ``negative`` (0 or 1; null or
        NaN is missing), optionally ``axis`` (such as "religion").
    cluster : str, optional
        Column with the sampling unit, whose rows are averaged first. Default: ``prompt_id`` if present, else each row.
    n_axes : int, default 1
        Number of axes that share `alpha`. Affects only the minimum detectable effect, q and ``named``.
    alpha : float, default 0.05
        Probability that any axis is falsely called biased.
    reference : str, optional
        Group with which every other group of its axis is also compared (``pairs``).
    strata : sequence of str, default ()
        One column to hold fixed, or two crossed factors (for example template and noun).
    error : polars.DataFrame, optional
        Classifier error counts from `error_counts`, for which rates, differences and CIs are corrected.
    numbers : bool, default False
        Outcomes are numbers in their own unit, for example scores. Without it, they must be 0 or 1.
    seed : int, default 0
        Random seed.

    Returns
    -------
    Disparity
        Tables of axes, groups and pairs.

    Raises
    ------
    DataError
        A column is missing, or an outcome is not 0, 1 or missing (with `numbers`: not a finite number).
    UsageError
        `alpha` or `n_axes` is invalid, the reference group is unknown, or a unit is in two strata.

    Notes
    -----
    The test permutes whole units between the groups of an axis (Edgington & Onghena 2007). If most units are in several
    groups and connect them all (templates), groups are compared within units. With two strata, their interaction with
    groups counts as chance, and verdicts are about strata like these. CIs of differences combine those of both rates
    (Zou & Donner 2008). If a test of variances finds unequal clustering, each unit counts as one Bernoulli trial. With
    `error`, CIs include its uncertainty; ``burden``, ``tolerance``, ``missing_share`` are null.

    Examples
    --------
    >>> frame = pl.DataFrame({"group": ["women"] * 100 + ["men"] * 100,
    ...                       "negative": [1] * 83 + [0] * 17 + [1] * 2 + [0] * 98})
    >>> found = disparity(frame)
    >>> found.axes.select("worst", pl.col("gap", "gap_low", "gap_high").round(1)).row(0)
    ('women', 81.0, 71.1, 87.3)
    >>> found.groups.select("group", "named", pl.col("estimate").round(1)).rows()
    [('men', 'better', -81.0), ('women', 'worse', 81.0)]
    """
    if not 0 < alpha < 1 or n_axes < 1:
        raise UsageError(
            f"disparity: alpha must be between 0 and 1 (usually 0.05) and n_axes at least 1, got alpha={alpha}, "
            f"n_axes={n_axes}."
        )
    parts, cluster = units_of_axes(frame, "disparity", cluster=cluster, strata=strata, numbers=numbers)
    _check_reference(reference, parts)
    unit = unit_name(cluster)
    axes, groups, pairs = [], [], []
    for part in parts:
        scale = 100.0 if part.units.shares else 1.0
        counts = counts_of_axis(error, part.axis, part.names) if error is not None else None
        how: dict[str, Any] = {"level": alpha / n_axes, "unit": unit, "seed": seed}
        two = None
        if counts is not None and part.units.shares:
            found = compare_corrected(part.units, counts, **how)
        else:
            found = compare_units(part.units, **how)
            if len(strata) == 2 and found.obstacle in (None, SKEWED.format(unit=unit)):
                judged = frame if part.axis is None else frame.filter(pl.col("axis") == part.axis)
                names = [part.names[place] for place in found.places]
                anew = over_two_samples(found, judged, names, (strata[0], strata[1]), alpha / n_axes)
                two = anew if isinstance(anew, TwoSamples) else None
                found = anew.comparison if isinstance(anew, TwoSamples) else anew
            if two is None:
                found = with_rates_like_differences(found)
        errors = counts.select(found.places) if counts is not None and found.corrected else None
        rows = _group_rows(part, found, scale, unit, alpha, n_axes, errors)
        whole = _axis_row(part, found, scale, unit, errors)
        if whole["obstacle"] is None and found.axis_p * n_axes <= alpha:
            whole["obstacle"] = explain_axis(part, found, rows)
        axes.append(whole)
        groups.append(rows)
        pairs += _pair_rows(part, found, two, scale, reference, seed)
    return Disparity(
        axes=_table(axes, _AXES),
        groups=_table([row for rows in groups for row in rows], _GROUPS),
        pairs=_table(pairs, _PAIRS),
    )


def _check_reference(reference: str | None, parts: list[AxisUnits]) -> None:
    if reference is not None and not any(reference in part.names for part in parts):
        names = sorted({name for part in parts for name in part.names})
        raise UsageError(
            f"The reference group {reference!r} is not in the table.",
            f"Use one of its groups: {', '.join(names[:12])}{', ...' if len(names) > 12 else ''}.",
        )


def _table(rows: list[dict[str, Any]], schema: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=schema).with_columns(pl.col(pl.Float64).fill_nan(None))


def _axis_row(
    part: AxisUnits, found: Comparison, scale: float, unit: str, errors: LabelCounts | None
) -> dict[str, Any]:
    row: dict[str, Any] = {
        "axis": part.axis,
        "n": int(part.n.sum()),
        "n_missing": int(part.n_missing.sum()),
        "n_units": len(part.units.values),
        "n_groups": len(found.places),
        "null": 0.0,
        "rate": scale * float(np.mean(found.rates)) if len(found.places) else None,
        "corrected": found.corrected,
        "errors_assumed_equal": errors is not None and bool(errors.shared.any()),
        "n_reference": _n_reference(found),
        "obstacle": found.obstacle,
    }
    if found.spread is None or found.gap is None:
        return row
    gap, names = found.gap, [part.names[place] for place in found.places]
    if len(names) == 2 and found.differences is not None:  # two groups have one gap, in each table
        only, higher = found.differences, gap.high_group
        estimate, low, high = (float(of[higher]) for of in (only.estimate, only.low, only.high))
        gap = replace(gap, estimate=estimate, low=low, high=high)
    return row | {
        "estimate": scale * found.spread.estimate,
        "low": scale * found.spread.low,
        "high": scale * found.spread.high,
        "p": found.axis_p,
        "burden": scale * found.burden,
        "gap": scale * gap.estimate,
        "gap_low": scale * gap.low,
        "gap_high": scale * gap.high,
        "worst": names[gap.high_group],
        "best": names[gap.low_group],
        "worst_rate": scale * float(found.rates[gap.high_group]),
        "best_rate": scale * float(found.rates[gap.low_group]),
        "minimum_detectable": scale * found.smallest_spread,
        "note": _note(part, found, unit),
    }


def _n_reference(found: Comparison) -> int | None:
    if NO_COMMON_LEVEL in found.obstacles:
        return 0
    return None if found.reference is None else int(found.reference.sum())


def _note(part: AxisUnits, found: Comparison, unit: str) -> str | None:
    """Return the note on how the groups were compared, if this is unusual."""
    what = "Rates" if part.units.shares else "Means"
    notes = [INSIDE.format(inside=part.inside)] if part.inside else []
    notes += [LIKE_THESE.format(inside=part.inside)] if part.inside and " and " in part.inside else []
    if part.inside and not found.units.is_balanced:
        notes.append(ADJUSTED.format(what=what, inside=part.inside))
    notes += [SHARED.format(shared=part.shared, unit=unit)] if part.shared else []
    notes += [UNEVEN.format(unit=unit)] if found.coins else []
    notes += [CORRECTED] if found.corrected else []
    return " ".join(notes) or None


def _group_rows(
    part: AxisUnits,
    found: Comparison,
    scale: float,
    unit: str,
    alpha: float,
    n_axes: int,
    errors: LabelCounts | None,
) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = [
        {
            "axis": part.axis,
            "group": name,
            "null": 0.0,
            "n": int(part.n[code]),
            "n_missing": int(part.n_missing[code]),
            "n_units": 0,
            "obstacle": found.left_out.get(code)
            or found.obstacle
            or f"No {unit} of the group has a classified response.",
        }
        for code, name in enumerate(part.names)
    ]
    known = [rows[place] for place in found.places]
    for number, row in enumerate(known):
        row |= {
            "n_units": int(found.units.sizes[number]),
            "rate": scale * found.rates[number],
            "rate_low": scale * found.low[number],
            "rate_high": scale * found.high[number],
            "others": scale * found.others[number],
        }
    if found.differences is None or found.gap is None or found.smallest is None:
        return rows
    alone = found.has_one_unit
    difference = found.differences
    p = np.where(alone, np.nan, difference.p)
    q = np.maximum(benjamini_hochberg(p), min(1.0, found.axis_p * n_axes))
    tolerance = missing = np.full(len(known), np.nan)
    explained = explained_by_missing(part, found)
    if part.units.shares and not found.corrected:
        tolerance, missing = sure_part(found), agreeing_share(part, found)
    elif errors is not None and errors.shared.any():
        # labels of all groups may not describe one group: tolerance in points of its false-alarm rate
        tolerance = sure_part(found) * (errors.hit_rate - errors.alarm_rate)
    for number, row in enumerate(known):
        unsure = (found.obstacles[number] if found.obstacles else None) or explained[number]
        if unsure is None and np.isnan(p[number]):
            unsure = ELSEWHERE.format(inside=part.inside)
        row["obstacle"] = ALONE.format(unit=unit) if alone[number] else unsure
        row["note"] = _note(part, found, unit)
        low, high = float(difference.low[number]), float(difference.high[number])
        named = None
        if row["obstacle"] is None and q[number] <= alpha and (low > 0 or high < 0):
            named = "worse" if low > 0 else "better"
        row |= {
            "estimate": scale * float(difference.estimate[number]),
            "low": scale * low,
            "high": scale * high,
            "p": float(p[number]),
            "axis_p": found.axis_p,
            "q": float(q[number]),
            "worse_than_best": bool(found.gap.worse[number]),
            "named": named,
            "minimum_detectable": scale * float(found.smallest[number]),
            "tolerance": scale * float(tolerance[number]),
            "missing_share": 100 * float(missing[number]),
        }
    return rows


def _pair_rows(
    part: AxisUnits,
    found: Comparison,
    two: TwoSamples | None,
    scale: float,
    reference: str | None,
    seed: int,
) -> list[dict[str, Any]]:
    if found.differences is None or found.corrected:
        return []
    names = [part.names[place] for place in found.places]
    beside = names.index(reference) if reference in names else None
    if beside is None and len(names) > ALL_PAIRS_UP_TO:
        return []
    contrasts, pairs = pairs_of_groups(
        found.units, found.limits, reference=beside, coins=found.coins or two is not None, seed=seed
    )
    if two is not None:
        pairs = two.pairs(contrasts)
    if len(names) == 2:  # two groups have one gap, in each table
        first = contrasts.argmax(axis=1)
        of_groups = found.differences
        pairs = Differences(
            of_groups.estimate[first], of_groups.low[first], of_groups.high[first], of_groups.p[first]
        )
    testable = np.array([not found.has_one_unit[np.flatnonzero(row)].any() for row in contrasts])
    q = benjamini_hochberg(np.where(testable, pairs.p, np.nan))
    return [
        {
            "axis": part.axis,
            "group": names[int(np.argmax(row))],
            "other": names[int(np.argmin(row))],
            "estimate": scale * float(pairs.estimate[number]),
            "low": scale * float(pairs.low[number]),
            "high": scale * float(pairs.high[number]),
            "null": 0.0,
            "p": float(pairs.p[number]) if testable[number] else None,
            "q": float(q[number]),
        }
        for number, row in enumerate(contrasts)
    ]
