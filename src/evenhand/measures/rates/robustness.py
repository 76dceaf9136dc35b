"""How robust a difference between groups is: to a harsher classifier for one group, and to missing responses."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import ndtri

from evenhand.measures.rates.outcome_units import AxisUnits
from evenhand.schema import UsageError, checked
from evenhand.stats import Floats, reference_contrasts
from evenhand.stats.disparity import (
    EQUAL,
    Comparison,
    GroupLimits,
    MissingExcess,
    Units,
    explained_by_excess,
    extremes_of_missing,
    missing_shares,
    p_of_equal_shares,
    spread_explained_by_excess,
)

EXPLAINED = "Missing responses could explain the difference: "
_LARGEST = 9.99
_NORMAL = float(ndtri(0.975))


def sure_part(found: Comparison) -> Floats:
    """Return the bound of each group's difference that is nearer to 0 (known,); NaN if the CI includes 0.

    False alarms of a classifier may be more frequent for the group by this amount before the difference is explained.
    """
    assert found.differences is not None
    low, high = found.differences.low, found.differences.high
    return np.asarray(np.where(low > 0, low, np.where(high < 0, -high, np.nan)))


def agreeing_share(part: AxisUnits, found: Comparison) -> Floats:
    """Return the share of each group's missing responses that must agree with its finding, so that it holds (known,).

    A finding is that a group is treated worse or better. A missing response agrees with "worse" if it was negative, and
    with "better" if it was not. Those of all other groups are assumed to disagree. 0: the finding holds even if all
    missing responses disagree. NaN if the CI of the group's difference includes 0.
    """
    sure, weights = sure_part(found), _reference_weights(found)
    lowest, slope = (values[found.places] for values in part.filled)
    means = found.units.group_means(found.units.values)
    result = np.full(len(sure), np.nan)
    for number in np.flatnonzero(~np.isnan(sure)):
        worse = _is_worse(found, int(number))
        against = lowest + slope if worse else lowest
        others = float(weights[number] @ (against - means))
        left = sure[number] + (1 if worse else -1) * (lowest[number] - means[number] - others)
        if not worse:  # treated better: the missing responses must be harmless instead of negative
            left -= slope[number]
        result[number] = 0.0 if left > 0 else (-left / slope[number] if slope[number] > 0 else np.inf)
    return np.asarray(np.minimum(result, _LARGEST))


def explained_by_missing(part: AxisUnits, found: Comparison) -> tuple[str | None, ...]:
    """Return for each group why its difference is not measurable, if missing responses could explain it (known,).

    A group may lack more responses than the group that lacks fewest because of their content. This excess is assumed to
    contradict the finding as much as possible: rates are from 0 to 1, and numbers are bounded by
    `evenhand.stats.disparity.extremes_of_missing`. If the interval then includes 0, the difference is not measurable.
    """
    sure, contrasts = sure_part(found), np.eye(len(found.places)) - _reference_weights(found)
    assert found.differences is not None
    explained = explained_by_excess(
        found.differences.estimate, sure, contrasts, [_missing_in_excess(part, found)]
    )
    return tuple(_explanation(part, found) if one else None for one in explained)


def explain_axis(part: AxisUnits, found: Comparison, rows: Sequence[dict[str, Any]]) -> str | None:
    """Return why a significant axis is not measurable, if missing responses could explain it; otherwise None.

    This is so if no group is named and one of two conditions holds: the difference of a group has this explanation, or
    the excess of missing responses alone could cause the SD between groups. `rows` are those of the groups, with
    `obstacle` and `named`.
    """
    if found.spread is None or any(row.get("named") for row in rows):
        return None
    means = found.rates if found.corrected else found.units.means
    is_explained = any(str(row["obstacle"] or "").startswith(EXPLAINED) for row in rows)
    if is_explained or spread_explained_by_excess(means, found.spread.low, [_missing_in_excess(part, found)]):
        return _explanation(part, found)
    return None


def _missing_in_excess(part: AxisUnits, found: Comparison) -> MissingExcess:
    """Return the excess of missing responses of the groups, with bounds (known,)."""
    of_groups = (part.missing_share, part.missing_error, part.n_sampled)
    absent, error, units = (values[found.places] for values in of_groups)
    is_chance = p_of_equal_shares(absent, error, units) >= EQUAL
    if part.units.shares:
        rates = np.clip(found.rates, 0, 1) if found.corrected else found.units.group_means(found.units.values)
        below, above = rates, 1 - rates
    else:
        deviations = [part.deviations[place] for place in found.places]
        below, above = extremes_of_missing(found.units.means, deviations, absent)
    return MissingExcess.from_shares(absent, error, below, above, is_chance=is_chance, units=units)


def _explanation(part: AxisUnits, found: Comparison) -> str:
    names = [part.names[place] for place in found.places]
    if part.units.shares:
        return describe_excess(names, part.filled[1][found.places])
    extreme = (
        "If the additional missing numbers are as extreme as the most extreme observed ones, in the opposite "
        "direction"
    )
    return describe_excess(names, part.filled[1][found.places], extreme)


def describe_excess(
    names: Sequence[str],
    absent: Floats,
    assumption: str = "In the worst case for the additional missing responses",
) -> str:
    """Return the reason, with the groups that lack most and fewest responses; `absent` are shares from 0 to 1."""
    most, least = int(np.argmax(absent)), int(np.argmin(absent))
    return (
        f"{EXPLAINED}{100 * absent[most]:.0f}% of the responses about {names[most]} are missing, and "
        f"{100 * absent[least]:.0f}% of those about {names[least]}. {assumption}, the difference is not significant."
    )


@checked
def explain_contrast_by_missing(
    names: Sequence[str],
    rates: Sequence[float],
    missing: Sequence[Floats],
    low: float,
    high: float,
    *,
    paired: bool = False,
) -> str | None:
    """Return the reason if missing responses could explain a significant difference of two rates, otherwise None.

    Use it after a test of two rates, such as those of men and women. Responses may be missing because of their content,
    and the difference may be due to that.

    Parameters
    ----------
    names : sequence of str
        The two groups, as the sentence shows them.
    rates : sequence of float
        Their rates, as shares from 0 to 1. The difference is the first rate minus the second.
    missing : sequence of numpy.ndarray, shape (units,)
        For each group the share of its responses that is missing in each unit, such as a noun or a template.
    low, high : float
        95% CI of the difference, as shares.
    paired : bool, default False
        Both groups have the same units in the same order, such as templates. Then the missing shares are compared
        within units.

    Returns
    -------
    str or None
        Sentence that states why the difference is not measurable. None in three cases:
        - The CI includes 0.
        - A group has fewer than two units.
        - The difference stays significant in the worst case for the additional missing responses (see Notes).

    Notes
    -----
    One group may lack more responses than the other. In the worst case, these additional missing responses all have the
    outcome that makes the difference smaller. If the interval of the difference then includes 0, the difference is not
    measurable. Simulations: docs/evidence/verdicts.md.

    References
    ----------
    - Manski 1990: the bounds.

    Examples
    --------
    >>> lacking = [np.array([0.5, 0.6, 0.4]), np.array([0.0, 0.1, 0.0])]
    >>> print(explain_contrast_by_missing(["men", "women"], [0.4, 0.2], lacking, 0.05, 0.35))
    Missing responses could explain the difference: 50% of the responses about men are missing, and 3% of those about
    women. In the worst case for the additional missing responses, the difference is not significant.
    >>> explain_contrast_by_missing(["men", "women"], [0.4, 0.2], [np.zeros(3), np.zeros(3)], 0.05, 0.35) is None
    True
    """
    shares = np.concatenate([np.asarray(one, dtype=np.float64).ravel() for one in missing] or [np.zeros(0)])
    wrong = len(names) != 2 or len(rates) != 2 or len(missing) != 2 or not low <= high
    wrong |= paired and len({len(one) for one in missing}) > 1
    if wrong or not ((shares >= 0) & (shares <= 1)).all() or not all(0 <= rate <= 1 for rate in rates):
        raise UsageError(
            "explain_contrast_by_missing needs two names, two rates and two arrays of missing shares. All "
            "numbers must be from 0 to 1, low must not be above high, and paired groups need equally many units.",
            "Divide percentages by 100.",
        )
    sure = low if low > 0 else -high if high < 0 else np.nan
    if np.isnan(sure) or min(map(len, missing)) < 2:
        return None
    absent, excess = excess_of_missing(np.asarray(rates, dtype=np.float64), missing, paired=paired)
    estimate = np.array([rates[0] - rates[1]])
    if not explained_by_excess(estimate, np.array([sure]), np.array([[1.0, -1.0]]), [excess])[0]:
        return None
    return describe_excess(names, absent)


def excess_of_missing(
    rates: Floats, missing: Sequence[Floats], *, paired: bool = False
) -> tuple[Floats, MissingExcess]:
    """Return the missing share of each group, and its excess (groups,).

    Parameters
    ----------
    rates : numpy.ndarray, shape (groups,)
        Rates from 0 to 1.
    missing : sequence of numpy.ndarray
        For each group, the missing share of each unit; at least two units.
    paired : bool
        True if all groups have the same units in the same order.
    """
    units = np.array([len(one) for one in missing], dtype=np.float64)
    unit = np.concatenate([np.arange(len(one)) for one in missing]) if paired else None
    groups = np.repeat(np.arange(len(missing)), [len(one) for one in missing])
    absent, error = missing_shares(Units.from_arrays(np.concatenate(missing), groups, strata=unit))
    shares = np.clip(rates, 0.0, 1.0)
    is_chance = p_of_equal_shares(absent, error, units) >= EQUAL
    return absent, MissingExcess.from_shares(
        absent, error, shares, 1 - shares, is_chance=is_chance, units=units
    )


def _is_worse(found: Comparison, number: int) -> bool:
    assert found.differences is not None
    return bool(found.differences.low[number] > 0)


def _reference_weights(found: Comparison) -> Floats:
    """Return the weights of the groups in the mean that each group is compared with (known, known)."""
    groups = len(found.places)
    reference = np.ones(groups, dtype=bool) if found.reference is None else found.reference
    return np.asarray(np.eye(groups) - reference_contrasts(reference))


def with_rates_like_differences(found: Comparison) -> Comparison:
    """Return the comparison with rates that are adjusted for unequal strata, as the differences are.

    Otherwise rates and differences of a row would disagree.
    """
    if found.units.strata is None or found.units.is_balanced:
        return found
    rates = found.limits.means
    if found.units.shares:
        rates = np.clip(rates, 0.0, 1.0)
    limits = replace(GroupLimits.estimate(replace(found.units, strata=None)), means=rates)
    low, high = (limits.robust_bounds if found.coins else limits.bounds_at)(_NORMAL)
    others = (rates.sum() - rates) / (len(rates) - 1) if len(rates) > 1 else found.others
    return replace(found, rates=rates, low=low, high=high, others=others)
