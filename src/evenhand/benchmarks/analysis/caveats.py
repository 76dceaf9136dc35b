"""Select the caveats of a finding: the reference, the classifier, missing responses, the sample of descriptors.

The words are in `evenhand.reports.sentences`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from evenhand.reports import sentences
from evenhand.reports.sentences import RateWords

LEAST_REFERENCE = 0.6
"""If a smaller share of the groups does not stand out, a sentence states that the side cannot be decided."""
OF_GROUPS = ("tolerance", "missing_share", "n_missing", "rate", "background")
"""Columns of the groups table that sentences use."""


def reference_of(facts: Mapping[str, Any], total: int | None, what: str) -> str:
    """Return what named groups are compared with, if that is not all other groups.

    facts: row of the axis, with n_reference. total: groups of the axis. what: what a group is called, in the plural.
    """
    reference = facts.get("n_reference")
    if not reference or not total or reference >= total:
        return ""
    return sentences.reference_groups(reference, what)


def undecided_side(
    facts: Mapping[str, Any], total: int | None, groups: Sequence[Mapping[str, Any]], what: str
) -> str:
    """Return the sentence on what the comparison cannot decide, or nothing.

    If the groups have no common level, no group is named. If the reference has few groups, or all named groups
    are on the better side, the comparison cannot decide whether these are treated better or the others worse.
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


def robustness_of(
    facts: Mapping[str, Any],
    groups: Sequence[Mapping[str, Any]],
    how: RateWords,
    than: Mapping[Any, Any] | None = None,
) -> str:
    """Return how wrong the classifier must be about the group that stands out most, and what missing responses do.

    facts: row of the axis. groups: its named groups. than: what a group is compared with, if that is a single group.
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
        parts += [_tolerated(first, how, other), _missing_bound(first, how)]
    return sentences.joined(*parts)


def _tolerated(group: Mapping[str, Any], how: RateWords, other: object) -> str:
    tolerance = group["tolerance"]
    if round(tolerance, 1) <= 0 or how.condition:  # nobody judges whether a number is large
        return ""
    than = "the other groups" if other is None else how.name(other)
    return sentences.robustness(
        tolerance, how.name(group["group"]), than, worse=group["direction"] == "worse", judge=how.judge
    )


def _missing_bound(group: Mapping[str, Any], how: RateWords) -> str:
    """Return the sentence on missing responses, if there are any and they could matter."""
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


def sample_of(facts: Mapping[str, Any]) -> str:
    """Return that an axis was tested on a sample of its descriptors, or nothing. facts: row of the axis."""
    return sentences.sample(facts.get("n_drawn"), facts.get("n_defined"))


def bounds_of_groups(groups: pl.DataFrame | None) -> dict[tuple[str | None, str], dict[str, Any]]:
    """Return the rate of each group and what its difference survives, by axis and group."""
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
