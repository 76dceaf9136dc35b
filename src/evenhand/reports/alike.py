"""Find names in a user's own table that look alike but are counted separately."""

import unicodedata
from collections import defaultdict
from collections.abc import Iterable

from evenhand.reports.view import ReportView

MOST_NAMED = 5
"""Largest number of sets of names that a report lists; further sets are only counted."""


def alike_names(names: Iterable[str]) -> list[list[str]]:
    """Return sets of names that look alike.

    They differ only in case, white space, hidden characters or the encoding of accents.

    Examples
    --------
    >>> alike_names(["old", "Old", "young", " old"])
    [[' old', 'Old', 'old']]
    """
    sets: dict[str, set[str]] = defaultdict(set)
    for name in names:
        shown = "".join(c for c in unicodedata.normalize("NFKC", name) if unicodedata.category(c) != "Cf")
        sets[" ".join(shown.casefold().split())].add(name)
    return [sorted(found) for found in sets.values() if len(found) > 1]


def alike_groups(view: ReportView) -> str:
    """Return a sentence on axes and groups of the user's own data whose names look alike; empty if there are none.

    They may be one group with two spellings. They are not merged, because the difference may be intended.
    """
    arguments = view.manifest.get("arguments_resolved", {})
    if arguments.get("prompts") is None and arguments.get("file") is None:
        return ""
    rows = view.measurements.select("axis", "group").unique(maintain_order=True)
    found = [("axes", names) for names in alike_names(rows["axis"].drop_nulls())]
    for (axis,), part in rows.drop_nulls().group_by("axis", maintain_order=True):
        found += [(f"groups of {axis}", names) for names in alike_names(part["group"])]
    if not found:
        return ""
    named = "; ".join(f"{what} {', '.join(map(ascii, names))}" for what, names in found[:MOST_NAMED])
    more = f"; and {len(found) - MOST_NAMED} sets more" if len(found) > MOST_NAMED else ""
    return f"Names that look alike are counted apart: {named}{more}. If they mean the same, write them the same way."
