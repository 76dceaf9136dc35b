"""Select texts: remove empty and repeated ones, and sample evenly over models and groups."""

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import polars as pl

from evenhand.annotation.building.built import ContentSelection, Notes, StudyText, Value
from evenhand.annotation.definition import without_controls
from evenhand.prompts import row_keys
from evenhand.schema import UsageError

LONGEST = 100_000
"""Maximum number of characters of an item."""
Thing = TypeVar("Thing")
NAMING_GROUPS = ("axis", "group", "descriptor", "gender", "name")
"""Columns that identify groups: axis and group together if both exist, otherwise the first that exists."""


def identifier(kind: str, *content: object) -> str:
    """Return an identifier that depends only on content, so that a rebuilt study has the same items.

    >>> identifier("text", "a model", "He", "cooks.") == identifier("text", "a model", "He", "cooks.")
    True
    """
    written = json.dumps(content, ensure_ascii=False, sort_keys=True).encode()
    return f"{kind}-{hashlib.blake2b(written, digest_size=8).hexdigest()}"


def text_identifier(said: StudyText) -> str:
    """Return the identifier of a text, from its model, context and content."""
    return identifier("text", said.model, said.context, said.text)


def fit(texts: Sequence[StudyText], wanted: ContentSelection, notes: Notes) -> list[StudyText]:
    """Return the texts that can be shown: not empty, not too long, and not to be left out."""
    plain = [
        replace(said, text=without_controls(said.text).strip(), context=_clean_context(said.context))
        for said in texts
    ]
    there = [said for said in plain if said.text]
    _tell(plain, there, "texts{} are empty and left out", notes)
    short = [said for said in there if max(len(said.text), len(said.context or "")) <= LONGEST]
    _tell(there, short, f"texts{{}} have more than {LONGEST:,} characters and are left out", notes)
    return _not_left_out(short, wanted.leave_out, notes)


def drop_repeats(texts: Sequence[StudyText], notes: Notes) -> list[StudyText]:
    """Return each text of a model with the same context once."""
    first: dict[str, StudyText] = {}
    for said in texts:
        first.setdefault(text_identifier(said), said)
    _tell(
        texts,
        list(first.values()),
        "texts{} are left out because they repeat another text",
        notes,
    )
    return list(first.values())


def _tell(before: Sequence[StudyText], after: Sequence[StudyText], what: str, notes: Notes) -> None:
    """Note how many texts of each model were removed."""
    lost = Counter(said.model for said in before)
    lost.subtract(said.model for said in after)
    for model, number in lost.items():
        notes.count(number, what.format(f" of {model}" if model else ""))


def _clean_context(context: str | None) -> str | None:
    return without_controls(context) if context else None


def _not_left_out(texts: list[StudyText], leave_out: Sequence[str], notes: Notes) -> list[StudyText]:
    for rule in leave_out:
        column, found, value = rule.partition("=")
        if not found:
            raise UsageError(
                f"`--leave-out` expects COLUMN=VALUE, got {rule!r}.",
                "For example: --leave-out template=was known for",
            )
        known = {str(said.groups[column]) for said in texts if column in said.groups}
        if value not in known:
            listed = ", ".join(sorted(known)[:8]) if known else "the texts have no such column"
            raise UsageError(
                f"`--leave-out {rule}`: no text has this value.", f"Values of {column}: {listed}."
            )
        kept = [said for said in texts if str(said.groups.get(column)) != value]
        notes.count(len(texts) - len(kept), f"texts with {rule} are left out")
        texts = kept
    return texts


def cell(groups: Mapping[str, Value]) -> tuple[Value, ...]:
    """Return the cell to which a text belongs when it is sampled: its axis and group, or its
    descriptor, gender or name.
    """
    if "group" in groups:
        return (groups.get("axis"), groups["group"])
    return next(((groups[name],) for name in NAMING_GROUPS[2:] if name in groups), (groups.get("axis"),))


def sample_evenly(
    things: Sequence[Thing],
    limit: int | None,
    seed: int,
    key: Callable[[Thing], str],
    cell_of: Callable[[Thing], Hashable],
) -> list[Thing]:
    """Return at most `limit` things in their order, with equal numbers per cell where possible.

    key: function that returns the name of a thing, which determines with the seed when it is drawn.

    >>> sample_evenly(["a1", "a2", "a3", "b1"], 2, 0, str, lambda thing: thing[0])[1]
    'b1'
    """
    if limit is None or limit >= len(things):
        return list(things)
    if limit < 1:
        raise UsageError(f"`--limit` must be at least 1, got {limit}.", "Use 1 or more.")
    order = row_keys(pl.Series([key(thing) for thing in things]), seed, "annotation").tolist()
    cells: dict[Hashable, list[int]] = defaultdict(list)
    for place in sorted(range(len(things)), key=order.__getitem__):
        cells[cell_of(things[place])].append(place)
    # each round takes one thing per cell; in the last round, those with the smallest random numbers
    ranked = sorted(
        (rank, order[place], place) for places in cells.values() for rank, place in enumerate(places)
    )
    return [things[place] for place in sorted(place for _, _, place in ranked[:limit])]
