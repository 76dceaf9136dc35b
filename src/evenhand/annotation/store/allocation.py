"""Assign items to annotators, as pure functions: which items, in which order, on which side, which statements.

All random numbers depend on the study's seed, the annotator's number and the task batch's number, so that they can be
reproduced.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from random import Random
from typing import TypeVar

from evenhand.annotation.store.steps import Role, Side

T = TypeVar("T")


@dataclass(frozen=True)
class OpenItem:
    """An item with a free place, in the order in which items should be assigned."""

    item: int
    conversations: tuple[str, ...]
    """Conversations that no annotator may see twice."""


@dataclass(frozen=True)
class UnitPosition:
    """One position in a task batch."""

    item: int
    role: Role
    original: int | None = None
    """For a duplicate: the position in the unit at which the item was first shown."""


def draws(seed: int, *what: object) -> Random:
    """Return a stream of random numbers for one purpose, such as (seed, "sides", person, unit)."""
    return Random("/".join(map(str, (seed, *what))))


def tie_break(seed: int, name: str, taken: int) -> int:
    """Return the random rank of an item among those with as many slots taken, from 0 to 2^63 - 1.

    The rank differs for each number of slots. Every round over the items therefore has a new order, and items are not
    always judged together with the same others.
    """
    return int.from_bytes(blake2b(f"{seed}/{taken}/{name}".encode(), digest_size=8).digest()) >> 1


def choose(open_items: Iterable[OpenItem], seen: Collection[str], number: int) -> list[OpenItem]:
    """Return the first items whose conversations the annotator has not seen and that do not overlap.

    open_items: sorted by number of places taken, ties by `tie_break`; read lazily. seen: conversations. number: wanted
    number of items. Returns fewer if there are no more.

    >>> pairs = [OpenItem(1, ("x", "y")), OpenItem(2, ("y", "z")), OpenItem(3, ("z", "w")), OpenItem(4, ("v", "u"))]
    >>> [chosen.item for chosen in choose(pairs, {"u"}, 3)]
    [1, 3]
    """
    chosen: list[OpenItem] = []
    used = set(seen)
    if number < 1:
        return chosen
    for candidate in open_items:
        if used.isdisjoint(candidate.conversations):
            chosen.append(candidate)
            used.update(candidate.conversations)
            if len(chosen) == number:
                break
    return chosen


def draw_side(item: Mapping[Side, int], person: Mapping[Side, int], random: Random) -> Side:
    """Return the conversation for the left side: the one shown there less often for the item, else for the person.

    item, person: how often each conversation was on the left in the slots in use. If this function fills every slot of
    an item, the counts of a and b differ by at most one when all are filled, even if slots were given back in between.
    The reason: it never chooses the one with the larger count, so neither gets more than half of the slots, rounded
    up.
    """
    for counts in (item, person):
        if counts["a"] != counts["b"]:
            return "a" if counts["a"] < counts["b"] else "b"
    return random.choice(("a", "b"))


def draw_gold(shown: Mapping[int, int], number: int, random: Random) -> list[int]:
    """Return gold items for a task batch: those that the annotator saw least often.

    shown: how often, by item. Returns at most as many as exist.
    """
    order = sorted(shown)
    random.shuffle(order)
    return sorted(order, key=shown.__getitem__)[:number]


def lay_out(real: Sequence[int], gold: Sequence[int], duplicates: int, random: Random) -> list[UnitPosition]:
    """Return the order of a unit: real items shuffled, with gold items and duplicates between them, never first.

    real, gold: items. duplicates: number of real items to repeat, each after its original and not directly after it
    (with one real item: directly after it). Gold is equally likely at each place except the first. A single duplicate
    is equally likely at each place from the third on, and repeats any earlier real item; several duplicates are placed
    where each has an original.
    """
    again = min(duplicates, max(len(real) - 1, 1)) if real else 0
    length = len(real) + len(gold) + again
    apart = 2 if len(real) > 1 else 1
    first = 1 if real else 0
    golds = random.sample(range(first, length), len(gold))
    left = [at for at in range(length) if at not in golds]
    originals: dict[int, int] | None = None
    while originals is None:
        places = sorted(random.sample([at for at in left if at >= apart], again))
        originals = _originals(places, [at for at in left if at not in places], apart, random)
    order, known = list(real), dict(zip(golds, gold, strict=True))
    random.shuffle(order)
    items = iter(order)
    laid: list[UnitPosition] = []
    for at in range(length):
        if at in originals:
            laid.append(UnitPosition(laid[originals[at]].item, "duplicate", originals[at]))
        else:
            laid.append(UnitPosition(known[at], "gold") if at in known else UnitPosition(next(items), "real"))
    return laid


def _originals(
    duplicates: Sequence[int], real: Sequence[int], apart: int, random: Random
) -> dict[int, int] | None:
    """Return a different earlier real item for each position of a duplicate; None if that is impossible."""
    found: dict[int, int] = {}
    for at in duplicates:
        before = [place for place in real if place <= at - apart and place not in found.values()]
        if not before:
            return None
        found[at] = random.choice(before)
    return found


def draw_statements(
    statements: Sequence[T], asked: Collection[T], number: int | None, random: Random
) -> list[T]:
    """Return statements of a scale for one task batch, without those that the annotator has already rated.

    number: wanted number; None: all that are left. A sample is in random order, all statements are in the scale's
    order.
    """
    left = [statement for statement in statements if statement not in asked]
    return left if number is None else random.sample(left, min(number, len(left)))
