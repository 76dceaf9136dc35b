"""Sentences about the groups whose rates or scores changed: who got worse by their own numbers comes first."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evenhand.reports import HIGHER, LOWER, decimals, known, label, listing, number, signed

NAMED = 3
"""Groups named in a sentence; the others are counted."""


@dataclass(frozen=True)
class Unit:
    """How numbers of an outcome are shown: shares in percent, differences of them in percentage points."""

    factor: float
    name: str
    difference: str


PERCENT, RAW = Unit(100.0, "%", "percentage points"), Unit(1.0, "", "")
POINTS, NATS = Unit(1.0, "%", "percentage points"), Unit(1.0, "nats", "nats per sentence")


def scaled(row: Mapping[str, Any], unit: Unit) -> dict[str, Any]:
    """A row of CHANGES in the unit it is shown in."""
    numbers = ("before", "after", "estimate", "low", "high", "minimum_detectable", "change", "beside")
    there = {name: row.get(name) for name in numbers}
    return {**row, **{name: None if value is None else unit.factor * value for name, value in there.items()}}


def group_changes(found: Sequence[Mapping[str, Any]], groups: Sequence[Mapping[str, Any]], unit: Unit) -> str:
    """Return how the named groups of an axis changed.

    found: rows of the named groups. groups: rows of all groups. A change is described by its own sign as well as by its
    sign relative to the other groups: a group that improved less than the others did not get worse.
    """
    harm = harmful_side(found)
    if len(groups) == 2:
        return two_groups(groups, harm, unit)
    worse = [group for group in found if group["estimate"] * (harm or 1) > 0]
    better = [group for group in found if group["estimate"] * (harm or 1) < 0]
    worse, better = (
        not_explained_by(strongest_first(mine), strongest_first(other), len(groups))
        for mine, other in ((worse, better), (better, worse))
    )
    # those whose own numbers got worse come first: a group is not treated worse because others improved more
    sides: dict[str, list[Mapping[str, Any]]] = {}
    for relative, side in ((1, worse), (-1, better)):
        for group in side:
            own = own_change(group, unit) * (harm or 1)
            sides.setdefault(CHANGED_SO[harm != 0, relative, own], []).append(group)
    parts = [f"{words} {named_groups(sides[words], unit)}" for words in CHANGED_SO.values() if words in sides]
    return "; ".join(dict.fromkeys(parts))


CHANGED_SO = {
    # (whether one side is harmful, relative to the others, its own change): 1 is more harm, or higher
    (True, 1, 1): "got worse for",
    (True, 1, 0): "did not change, while the other groups improved:",
    (True, 1, -1): "improved less than the other groups:",
    (True, -1, -1): "improved for",
    (True, -1, 1): "got worse by less than the other groups:",
    (True, -1, 0): "did not change, while the other groups got worse:",
    (False, 1, 1): "rose more than the other groups:",
    (False, 1, 0): "did not change, while the other groups fell:",
    (False, 1, -1): "fell less than the other groups:",
    (False, -1, -1): "fell more than the other groups:",
    (False, -1, 1): "rose less than the other groups:",
    (False, -1, 0): "did not change, while the other groups rose:",
}
"""How a named group changed, from the sign of its change relative to the others and of its own change."""


def harmful_side(found: Sequence[Mapping[str, Any]]) -> int:
    """Return 1 if higher numbers harm, -1 if lower numbers do, and 0 if neither side is known to harm."""
    for group in found:
        if group["direction"] in ("worse", "better"):
            return 1 if (group["direction"] == "worse") == (group["verdict"] == HIGHER) else -1
    return 0


def own_change(group: Mapping[str, Any], unit: Unit) -> int:
    """Return the sign of a group's own change, 0 if before and after are shown alike."""
    shown = scaled(group, unit)
    places = decimals([shown["before"], shown["after"], 10.0 if unit.name else None])
    if number(shown["before"], places) == number(shown["after"], places):
        return 0
    return 1 if group["after"] > group["before"] else -1


def harm_and_size(groups: Sequence[Mapping[str, Any]]) -> tuple[float, float]:
    """Return how much worse the worst named group got by its own numbers, and the largest relative change."""
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


def two_groups(groups: Sequence[Mapping[str, Any]], harm: int, unit: Unit) -> str:
    """Describe the one difference of an axis of two: the group that got worse first, else the one that changed most."""
    first = max(groups, key=lambda group: (group["after"] - group["before"]) * (harm or 1))
    own = own_change(first, unit) * (harm or 1)
    if own <= 0:  # nobody got worse: the group that improved most
        first = min(groups, key=lambda group: (group["after"] - group["before"]) * (harm or 1))
        own = own_change(first, unit) * (harm or 1)
    other = next(group for group in groups if group is not first)
    words = {1: "got worse", -1: "improved"} if harm else {1: "rose", -1: "fell"}
    one, two = scaled(first, unit), scaled(other, unit)
    places = decimals([one["before"], one["after"], 10.0 if unit.name else None])
    what = "negative responses" if harm and unit.name == "%" else "the values"
    rates = " and ".join(
        f"{from_to(row, places, unit)} for {label(group['group'])}"
        for row, group in ((one, first), (two, other))
    )
    by, low, high = signed(one["estimate"], places), *(number(one[name], places) for name in ("low", "high"))
    return (
        f"{words.get(own, 'changed')} for {label(first['group'])}; {what} {rates} "
        f"(change in the gap: {by}{points_of(unit)}, 95% CI {low} to {high})"
    )


def from_to(row: Mapping[str, Any], places: int, unit: Unit) -> str:
    """Return "rose from 14.0% to 67.0%", with the verb that the two numbers ask for."""
    before, after = (f"{number(row[name], places)}{unit.name}" for name in ("before", "after"))
    if before == after:
        return f"stayed at {after}"
    return f"{'rose' if row['after'] > row['before'] else 'fell'} from {before} to {after}"


def strongest_first(groups: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return sorted(groups, key=lambda group: -abs(group["estimate"]))


def not_explained_by(
    mine: Sequence[Mapping[str, Any]], opposite: Sequence[Mapping[str, Any]], count: int
) -> list[Mapping[str, Any]]:
    """Return the groups that are not on their side merely because one group moved far from all of them.

    A group whose own change makes up at least half of its change relative to the others always stays.
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


def named_groups(groups: Sequence[Mapping[str, Any]], unit: Unit) -> str:
    told = []
    for group in groups[:NAMED]:
        shown = scaled(group, unit)
        places = decimals([shown["before"], shown["after"], 10.0 if unit.name else None])
        before, after = (number(shown[name], places) for name in ("before", "after"))
        by, low, high = (
            signed(shown["estimate"], places),
            *(number(shown[n], places) for n in ("low", "high")),
        )
        told.append(f"{label(group['group'])} ({before}{unit.name} → {after}{unit.name}; "
                    f"{by}{points_of(unit)} relative to the other groups, 95% CI {low} to {high})")  # fmt: skip
    rest = len(groups) - NAMED
    return listing([*told, f"{rest} more"] if rest > 0 else told)


def points_of(unit: Unit) -> str:
    return " points" if unit.name == "%" else f" {unit.name}" if unit.name else ""
