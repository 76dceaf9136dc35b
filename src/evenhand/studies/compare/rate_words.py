"""Select what a sentence states about groups whose rates changed. Groups whose own rate got worse come first."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evenhand.reports import HIGHER, LOWER, known, sentences, sign_of_change
from evenhand.reports.sentences import CHANGED_SO, Estimate, GroupChange, Scale


@dataclass(frozen=True)
class Unit:
    """How values of an outcome are shown: the unit of values, the unit of differences, and the factor for both."""

    factor: float
    name: str
    difference: str


PERCENT, RAW = Unit(100.0, "%", "percentage points"), Unit(1.0, "", "")
POINTS, NATS = Unit(1.0, "%", "percentage points"), Unit(1.0, "nats", "nats per sentence")


def scale_row(row: Mapping[str, Any], unit: Unit) -> dict[str, Any]:
    """Return a copy of a row of CHANGES with its values multiplied by the factor of the unit."""
    numbers = ("before", "after", "estimate", "low", "high", "minimum_detectable", "change", "beside")
    there = {name: row.get(name) for name in numbers}
    return {**row, **{name: None if value is None else unit.factor * value for name, value in there.items()}}


def group_changes(
    found: Sequence[Mapping[str, Any]], groups: Sequence[Mapping[str, Any]], unit: Unit
) -> tuple[str, str]:
    """Return the verdict on an axis whose groups changed, and the numbers of the named groups.

    A change is described by its own sign as well as by its sign relative to the other groups: a group that improved
    less than the others did not get worse.

    Parameters
    ----------
    found
        Rows of the named groups.
    groups
        Rows of all groups.
    """
    harm = harmful_side(found)
    if len(groups) == 2:
        return two_groups(groups, harm, unit)
    worse = [group for group in found if group["estimate"] * (harm or 1) > 0]
    better = [group for group in found if group["estimate"] * (harm or 1) < 0]
    worse, better = (
        drop_explained_groups(strongest_first(mine), strongest_first(other), len(groups))
        for mine, other in ((worse, better), (better, worse))
    )
    # groups whose own rate got worse come first: a group is not treated worse because others improved more
    sides: dict[str, list[GroupChange]] = {}
    for relative, side in ((1, worse), (-1, better)):
        for group in side:
            own = own_change(group, unit) * (harm or 1)
            sides.setdefault(CHANGED_SO[harm != 0, relative, own], []).append(make_group_change(group, unit))
    ordered = [(words, sides[words]) for words in CHANGED_SO.values() if words in sides]
    return sentences.groups_changed(ordered, Scale(unit.name))


def make_group_change(row: Mapping[str, Any], unit: Unit) -> GroupChange:
    """Return the change of one group as the sentences need it, with values in the unit in which it is shown."""
    shown = scale_row(row, unit)
    relative = Estimate(shown["estimate"], shown["low"], shown["high"])
    return GroupChange(str(row["group"]), shown["before"], shown["after"], relative)


def harmful_side(found: Sequence[Mapping[str, Any]]) -> int:
    """Return 1 if higher values are harmful, -1 if lower values are, and 0 if this is unknown."""
    for group in found:
        if group["direction"] in ("worse", "better"):
            return 1 if (group["direction"] == "worse") == (group["verdict"] == HIGHER) else -1
    return 0


def own_change(group: Mapping[str, Any], unit: Unit) -> int:
    """Return the sign of a group's own change; 0 if before and after are the same after rounding for display."""
    before, after = (unit.factor * group[name] for name in ("before", "after"))
    return sign_of_change(before, after, has_unit=bool(unit.name))


def harm_and_size(groups: Sequence[Mapping[str, Any]]) -> tuple[float, float]:
    """Return by how much the worst named group's own rate got worse, and the largest change relative to others."""
    found = [group for group in groups if group["verdict"] in (LOWER, HIGHER)]
    harm = harmful_side(found)
    own = [
        harm * (group["after"] - group["before"])
        for group in groups
        if harm and known(group["before"]) and known(group["after"])
    ]
    return max([0.0, *own]), max((abs(group["estimate"]) for group in found), default=0.0)


def worst_first(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Sort rows of groups: those that got worse by their own numbers come first, then the largest relative changes.

    >>> rose = {"group": "women", "before": 0.1, "after": 0.6, "estimate": 0.2, "direction": "worse", "verdict": HIGHER}
    >>> fell = {**rose, "group": "men", "after": 0.05, "estimate": -0.3, "direction": "better", "verdict": LOWER}
    >>> [row["group"] for row in worst_first([fell, rose])]
    ['women', 'men']
    """
    harm = harmful_side(rows)

    def place(row: Mapping[str, Any]) -> tuple[float, float, str]:
        is_known = known(row["before"]) and known(row["after"])
        own = harm * (row["after"] - row["before"]) if is_known else 0.0
        return -max(0.0, own), -abs(row["estimate"]) if known(row["estimate"]) else 0.0, str(row["group"])

    return sorted(rows, key=place)


def two_groups(groups: Sequence[Mapping[str, Any]], harm: int, unit: Unit) -> tuple[str, str]:
    """Return the verdict on an axis of two groups, and their numbers.

    The group that got worse comes first. If no group got worse, the first is the group that improved less if the gap
    grew, and otherwise the group that improved most.

    Parameters
    ----------
    groups
        Rows of both groups (columns: CHANGES).
    harm
        1 if higher values are harmful, -1 if lower values are, 0 if this is unknown.
    unit
        Unit in which the outcome is shown.
    """
    side = harm or 1
    by_change = sorted(groups, key=lambda group: (group["after"] - group["before"]) * side)
    first, other = by_change[-1], by_change[0]
    own = own_change(first, unit) * side
    words = (
        {1: "got worse for {}", -1: "got better for {}"} if harm else {1: "rose for {}", -1: "fell for {}"}
    )
    verdict = words.get(own, "changed for {}")
    if own <= 0:  # no group got worse
        grew = abs(first["after"] - other["after"]) > abs(first["before"] - other["before"])
        if harm and grew:
            verdict = "improved less for {}" if own else CHANGED_SO[True, 1, 0]
        else:
            first, other = other, first
            verdict = words.get(own_change(first, unit) * side, "changed for {}")
    return sentences.two_groups_changed(
        verdict,
        make_group_change(first, unit),
        make_group_change(other, unit),
        Scale(unit.name),
        harmful=bool(harm),
    )


def strongest_first(groups: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return sorted(groups, key=lambda group: -abs(group["estimate"]))


def drop_explained_groups(
    mine: Sequence[Mapping[str, Any]], opposite: Sequence[Mapping[str, Any]], count: int
) -> list[Mapping[str, Any]]:
    """Return the groups whose relative change is not merely the effect of one group that moved in the other direction.

    If one group changes a lot, all others change relative to their mean, in the opposite direction. A group whose own
    change makes up at least half of its relative change is always returned.

    Parameters
    ----------
    mine
        Rows of groups that moved in one direction relative to the others, the largest change first.
    opposite
        Rows of groups that moved in the other direction, the largest change first.
    count
        Number of groups of the axis.
    """
    if count < 3 or not opposite or (mine and abs(mine[0]["estimate"]) >= abs(opposite[0]["estimate"])):
        return list(mine)
    share = abs(opposite[0]["estimate"]) / (count - 1)
    return [
        group
        for group in mine
        if abs(group["estimate"]) > 2 * share
        or (known(group.get("before")) and (group["after"] - group["before"]) / group["estimate"] >= 0.5)
    ]


def get_difference_suffix(unit: Unit) -> str:
    return " points" if unit.name == "%" else f" {unit.name}" if unit.name else ""
