"""What a difference between groups survives (a harsher classifier, missing responses), and rates that agree with it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import ndtri

from evenhand.measures.rates.outcome_units import AxisUnits
from evenhand.stats import Floats, reference_contrasts
from evenhand.stats.disparity import Comparison, GroupLimits

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
    """Return the share of each group's missing responses that must agree with its finding (known,); NaN without one.

    The missing responses of all other groups are assumed to contradict it. 0: it holds whatever is missing.
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
        if not worse:  # as far as its missing responses are harmless: from all to none negative
            left -= slope[number]
        result[number] = 0.0 if left > 0 else (-left / slope[number] if slope[number] > 0 else np.inf)
    return np.asarray(np.minimum(result, _LARGEST))


def explained_by_missing(part: AxisUnits, found: Comparison) -> tuple[str | None, ...]:
    """Return, for each group, why its difference is not measurable if missing responses could explain it (known,).

    Groups that lack more responses than the group that lacks fewest may lack them because of what these were. That
    excess is taken to speak against the finding: of a group that is treated worse all harmless, of the others all
    negative. Where nothing sure is left of the difference, it is not measurable.

    Source: bounds as of Manski 1990, Nonparametric Bounds on Treatment Effects, for the excess alone.
    """
    sure, weights = sure_part(found), _reference_weights(found)
    means = found.units.group_means(found.units.values)
    absent = part.filled[1][found.places]  # share of the units' samples that are missing
    excess = absent - absent.min()
    texts: list[str | None] = []
    for number in range(len(sure)):
        if np.isnan(sure[number]) or not excess.any():
            texts.append(None)
            continue
        if _is_worse(found, number):
            shift = means[number] * excess[number] + weights[number] @ (excess * (1 - means))
        else:
            shift = (1 - means[number]) * excess[number] + weights[number] @ (excess * means)
        if shift < sure[number]:
            texts.append(None)
            continue
        most = int(np.argmax(absent))
        least = int(np.argmin(absent))
        names = [part.names[found.places[place]] for place in (most, least)]
        texts.append(
            f"{EXPLAINED}{100 * absent[most]:.0f}% of the responses about {names[0]} are missing, and "
            f"{100 * absent[least]:.0f}% of those about {names[1]}. If the excess contradicts the difference, it is no "
            "longer significant."
        )
    return tuple(texts)


def all_explained(rows: Sequence[dict[str, Any]]) -> str | None:
    """Return why an axis is not measurable if each of its groups that would be named has that obstacle, or None.

    rows: of the groups, with `obstacle` and `named`.
    """
    reasons = [row["obstacle"] for row in rows if str(row["obstacle"] or "").startswith(EXPLAINED)]
    return reasons[0] if reasons and not any(row.get("named") for row in rows) else None


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
    if found.units.strata is None or found.units.balanced:
        return found
    rates = found.limits.means
    if found.units.shares:
        rates = np.clip(rates, 0.0, 1.0)
    limits = replace(GroupLimits.of(replace(found.units, strata=None)), means=rates)
    low, high = (limits.coins if found.coins else limits.at)(_NORMAL)
    others = (rates.sum() - rates) / (len(rates) - 1) if len(rates) > 1 else found.others
    return replace(found, rates=rates, low=low, high=high, others=others)
