"""What a sentence about groups rests on: whom they are compared with, the classifier, and missing responses."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from evenhand.reports import label

LEAST_REFERENCE = 0.6
"""If a smaller share of the groups does not stand out, a sentence states that the side cannot be decided."""


def name_of(group: object) -> str:
    return label(str(group))


def reference_of(facts: Mapping[str, Any], total: int | None, what: str) -> str:
    """Return what named groups are compared with: those that do not stand out, or the others of the axis.

    facts: row of the axis, with n_reference. total: groups of the axis. what: what a group is called, in the plural.
    """
    reference = facts.get("n_reference")
    if not reference or not total or reference >= total:
        return "the others of the axis"
    return f"the {reference} {what} that do not stand out"


def undecided_side(facts: Mapping[str, Any], total: int | None, groups: Sequence[Mapping[str, Any]]) -> str:
    """Return the clause on what the comparison cannot decide, or an empty string; no semicolon is part of it.

    Where the groups have no common level, none is named. Where few groups are in the reference, or all that are named
    are on the better side, one cannot say whether these are treated better or the others worse.
    """
    reference = facts.get("n_reference")
    if reference == 0:
        return "no group is named, because about as many groups differ as do not"
    if not reference or not total or not groups or reference >= total:
        return ""
    all_better = all(group["direction"] in ("better", "above") for group in groups)
    if not all_better and reference >= LEAST_REFERENCE * total:
        return ""
    these = "this group is" if total - reference == 1 else f"these {total - reference} are"
    others = "the other one" if reference == 1 else f"the other {reference}"
    return f"this comparison cannot decide whether {these} treated differently or {others}"


def holds_unless(facts: Mapping[str, Any], groups: list[dict[str, Any]]) -> str:
    """Return how wrong the classifier must be about the group that stands out most, and what missing responses do."""
    corrected = ""
    if facts.get("corrected"):
        corrected = "; the classifier's errors are taken out"
        if not facts.get("errors_assumed_equal"):
            return corrected
        corrected += ", assumed to be equal for all groups"
    worse = [g for g in groups if g["direction"] == "worse"]
    known = [g for g in worse or groups if g.get("tolerance") is not None]
    if not known:
        return corrected
    first = max(known, key=lambda g: abs(g["estimate"]))
    return corrected + _tolerated(first) + _missing_bound(first)


def _tolerated(group: Mapping[str, Any]) -> str:
    tolerance = group["tolerance"]
    points = max(int(tolerance), 1) if tolerance >= 1 else round(tolerance, 1)
    if not points:
        return ""
    harsher = "harsher" if group["direction"] == "worse" else "milder"
    size = f"{points} point{'' if points == 1 else 's'}"
    return f"; holds unless the classifier is {size} {harsher} on {name_of(group['group'])}"


def _missing_bound(group: Mapping[str, Any]) -> str:
    """Return the clause on missing responses: the share that must agree for the finding to hold, if there are any."""
    share = group.get("missing_share")
    if not group.get("n_missing") or share is None or share <= 0:
        return ""
    agree = "negative" if group["direction"] == "worse" else "harmless"
    who = name_of(group["group"])
    if share > 100:
        return f"; may not hold if all missing responses about {who} and the others speak against it"
    return f"; holds if {share:.0f} % of the missing responses about {who} would have been {agree}"


def bounds_of_groups(groups: pl.DataFrame | None) -> dict[tuple[str | None, str], dict[str, Any]]:
    """What the difference of each group survives, by axis and group: tolerance, missing_share and n_missing."""
    if groups is None or "tolerance" not in groups.columns:
        return {}
    kept = [name for name in ("tolerance", "missing_share", "n_missing") if name in groups.columns]
    return {
        (row["axis"], row["group"]): {name: row[name] for name in kept}
        for row in groups.iter_rows(named=True)
    }
