"""Select the caveats of a finding: the reference, the classifier, missing responses, the sample of descriptors.

The words are in `evenhand.reports.sentences`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from evenhand.reports import sentences
from evenhand.reports.sentences import RateWords

LEAST_REFERENCE = 0.6
"""Smallest share of groups at the common level. Below it, a sentence states that the direction cannot be decided."""
OF_GROUPS = ("tolerance", "missing_share", "n_missing", "rate", "background")
"""Columns of the detail table `groups` that the caveats need."""


def describe_reference(facts: Mapping[str, Any], total: int | None, what: str) -> str:
    """Return a description of the groups with which named groups are compared, or "" if these are all other groups.

    facts: row of the axis, with n_reference. total: number of groups of the axis. what: plural noun for the groups.
    """
    reference = facts.get("n_reference")
    if not reference or not total or reference >= total:
        return ""
    return sentences.reference_groups(reference, what)


def undecided_side(
    facts: Mapping[str, Any], total: int | None, groups: Sequence[Mapping[str, Any]], what: str
) -> str:
    """Return a sentence stating that the data do not show which groups are treated differently, or "" if they do.

    If the groups have no common level, no group is named. If few groups are at the common level, or all named groups
    are treated better, the data do not show whether these are treated better or the others worse.
    """
    reference = facts.get("n_reference")
    if reference == 0:
        return sentences.NO_COMMON_LEVEL
    if not reference or not total or not groups or reference >= total:
        return ""
    all_better = all(group["direction"] in ("better", "above") for group in groups)
    if not all_better and reference >= LEAST_REFERENCE * total:
        return ""
    return sentences.undecided_side(total - reference, reference, what)


def describe_robustness(
    facts: Mapping[str, Any],
    groups: Sequence[Mapping[str, Any]],
    how: RateWords,
    than: Mapping[Any, Any] | None = None,
) -> str:
    """Return sentences on two threats to a finding: classifier errors and missing responses.

    The first states how large the classifier's error about the most extreme group would have to be to explain the
    finding. facts: row of the axis. groups: its named groups. than: the comparison group, if there is only one.
    """
    parts = []
    if facts.get("corrected"):
        if not facts.get("errors_assumed_equal"):
            return sentences.CORRECTED
        parts.append(sentences.CORRECTED_EQUALLY)
    worse = [g for g in groups if g["direction"] == "worse"]
    known = [g for g in worse or groups if g.get("tolerance") is not None]
    if known:
        first = max(known, key=lambda g: abs(g["estimate"]))
        other = (than or {}).get(first["group"])
        parts += [_describe_tolerance(first, how, other), _missing_bound(first, how)]
    return sentences.joined(*parts)


def _describe_tolerance(group: Mapping[str, Any], how: RateWords, other: object) -> str:
    tolerance = group["tolerance"]
    # without a classifier, or with a tolerance that rounds to 0, the sentence has no meaning
    if round(tolerance, 1) <= 0 or how.condition:
        return ""
    than = "the other groups" if other is None else how.name(other)
    return sentences.robustness(
        tolerance, how.name(group["group"]), than, worse=group["direction"] == "worse", judge=how.judge
    )


def _missing_bound(group: Mapping[str, Any], how: RateWords) -> str:
    """Return the sentence on missing responses, or "" if there are none or they could not change the finding."""
    share = group.get("missing_share")
    if not group.get("n_missing") or share is None or share <= 0:
        return ""
    return sentences.missing_responses(
        share,
        how.name(group["group"]),
        worse=group["direction"] == "worse",
        about=how.about,
        condition=how.condition,
    )


def describe_sample(facts: Mapping[str, Any]) -> str:
    """Return the sentence that an axis was tested on a sample of its descriptors, or "". facts: row of the axis."""
    return sentences.sample(facts.get("n_drawn"), facts.get("n_defined"))


def bounds_of_groups(groups: pl.DataFrame | None) -> dict[tuple[str | None, str], dict[str, Any]]:
    """Return each group's rate, and the errors that would explain its difference (OF_GROUPS), by (axis, group)."""
    if groups is None or "tolerance" not in groups.columns:
        return {}
    kept = [name for name in OF_GROUPS if name in groups.columns]
    return {
        (row["axis"], row["group"]): {name: row[name] for name in kept}
        for row in groups.iter_rows(named=True)
    }


def mean_rate(groups: pl.DataFrame | None, axis: str | None) -> float | None:
    """Return the mean rate of the groups of an axis in percent, or None if a rate is unknown."""
    if groups is None or "rate" not in groups.columns:
        return None
    rates = groups.filter(pl.col("axis").eq_missing(pl.lit(axis, pl.String)))["rate"]
    known = rates.drop_nulls()
    return float(known.mean()) if len(known) and len(known) == len(rates) else None  # type: ignore[arg-type]
