"""Who gets what: held against brute force and counted draws."""

from collections import Counter
from itertools import combinations
from random import Random

import pytest
from hypothesis import given, strategies as st
from scipy.stats import chisquare

from evenhand.annotation.store.allocation import (
    OpenItem,
    choose,
    draw_gold,
    draw_side,
    draw_statements,
    draws,
    lay_out,
    tie_break,
)

conversations = st.tuples(st.integers(0, 8).map(str), st.integers(0, 8).map(str))


@given(st.lists(conversations, max_size=12), st.sets(st.integers(0, 8).map(str)), st.integers(0, 6))
def test_nothing_chosen_is_seen_or_shares_a_conversation_and_nothing_in_front_could_have_been_taken(
    pairs: list[tuple[str, str]], seen: set[str], number: int
) -> None:
    candidates = [OpenItem(key, pair) for key, pair in enumerate(pairs)]
    chosen = choose(candidates, seen, number)
    assert all(seen.isdisjoint(one.conversations) for one in chosen)
    assert all(set(a.conversations).isdisjoint(b.conversations) for a, b in combinations(chosen, 2))
    # by brute force: each that was passed over clashes with one before it
    taken: list[OpenItem] = []
    for candidate in candidates:
        if len(taken) == number:
            break
        if all(
            name not in seen and all(name not in t.conversations for t in taken)
            for name in candidate.conversations
        ):
            taken.append(candidate)
    assert chosen == taken


def test_candidates_are_read_only_as_far_as_needed() -> None:
    read: list[int] = []

    def endless():
        for key in range(10**9):
            read.append(key)
            yield OpenItem(key, (str(key),))

    assert len(choose(endless(), set(), 5)) == 5
    assert read == list(range(5))


@given(st.integers(1, 9), st.lists(st.integers(0, 99), max_size=60), st.integers(0, 2**32))
def test_the_sides_of_an_item_differ_by_at_most_one_when_its_slots_are_full(
    wanted: int, events: list[int], seed: int
) -> None:
    """Slots are given and given back in any order, then filled."""
    random, held = Random(seed), []
    for event in [*events, *[0] * wanted]:
        if event % 3 == 2 and held:
            held.pop(event % len(held))
        elif len(held) < wanted:
            counts = Counter({"a": 0, "b": 0}) + Counter(held)
            item = {"a": counts["a"], "b": counts["b"]}
            held.append(draw_side(item, {"a": event % 5, "b": event % 7}, random))
    while len(held) < wanted:
        held.append(draw_side({"a": held.count("a"), "b": held.count("b")}, {"a": 0, "b": 0}, random))
    assert abs(held.count("a") - held.count("b")) <= 1


def test_a_person_sees_each_side_as_often_where_items_leave_it_open() -> None:
    random, mine = Random(1), {"a": 0, "b": 0}
    for _ in range(20):
        mine[draw_side({"a": 0, "b": 0}, mine, random)] += 1
    assert mine == {"a": 10, "b": 10}


@given(st.integers(1, 8), st.integers(0, 4), st.integers(0, 5), st.integers(0, 2**32))
def test_a_unit_holds_what_it_should_and_hides_it(real: int, gold: int, duplicates: int, seed: int) -> None:
    places = lay_out(range(real), range(100, 100 + gold), duplicates, Random(seed))
    assert sorted(place.item for place in places if place.role == "real") == list(range(real))
    assert sorted(place.item for place in places if place.role == "gold") == list(range(100, 100 + gold))
    assert places[0].role == "real"
    repeated = [place for place in places if place.role == "duplicate"]
    assert len(repeated) == min(duplicates, max(real - 1, 1))
    assert len({place.item for place in repeated}) == len(repeated)
    for at, place in enumerate(places):
        if place.role == "duplicate":
            assert place.original is not None
            assert places[place.original].item == place.item and places[place.original].role == "real"
            assert at > place.original + (len(places) > 2 and real > 1)


@pytest.mark.parametrize(
    ("real", "gold", "duplicates"), [(4, 1, 0), (5, 1, 1), (4, 2, 1), (10, 1, 2), (8, 3, 2)]
)
def test_hidden_items_come_at_every_place_where_they_may_as_often(
    real: int, gold: int, duplicates: int
) -> None:
    """Gold at all but the first; one repetition from the third on."""
    number, length = 3000, real + gold + duplicates
    laid = [lay_out(range(real), range(100, 100 + gold), duplicates, Random(seed)) for seed in range(number)]
    for role, first in (("gold", 1), ("duplicate", 2)):
        at = Counter(at for places in laid for at, place in enumerate(places) if place.role == role)
        if role == "gold" or duplicates == 1:
            assert sorted(at) == list(range(first, length))
            # without replacement counts vary less than in a draw of their own: the test is on the safe side
            assert chisquare(list(at.values())).pvalue > 0.001
        elif duplicates:
            # two need two originals: the earliest places are seldom free for both
            assert sorted(at) == list(range(first, length)) and at[length - 1] < 1.3 * number * 2 / (
                length - 2
            )


@given(st.lists(st.integers(0, 3), max_size=6), st.integers(0, 8), st.integers(0, 2**32))
def test_gold_is_repeated_only_when_all_was_shown_as_often(counts: list[int], number: int, seed: int) -> None:
    shown = dict(enumerate(counts))
    drawn = draw_gold(shown, number, Random(seed))
    assert len(drawn) == len(set(drawn)) == min(number, len(shown))
    rest = [shown[key] for key in shown if key not in drawn]
    assert not drawn or not rest or max(shown[key] for key in drawn) <= min(rest)


@given(st.integers(0, 16), st.integers(1, 5), st.integers(0, 2**32))
def test_no_statement_is_asked_twice(statements: int, number: int, seed: int) -> None:
    names, asked = [str(name) for name in range(statements)], []
    for unit in range(20):
        drawn = draw_statements(names, asked, number, draws(seed, unit))
        assert len(drawn) == min(number, statements - len(asked))
        asked += drawn
    assert sorted(asked) == sorted(names)
    assert draw_statements(names, [], None, Random(0)) == names


def test_every_statement_is_drawn_as_often() -> None:
    drawn = Counter(
        one for seed in range(3000) for one in draw_statements(range(16), (), 2, draws(seed, "s"))
    )
    assert min(drawn.values()) > 300 and max(drawn.values()) < 450  # 375 expected, deviation about 18


def test_items_meet_others_in_every_round() -> None:
    """Ties are broken anew with each number of slots taken, so that no two rounds go in the same order."""
    names = [f"item-{number}" for number in range(200)]
    orders = [sorted(names, key=lambda name: tie_break(7, name, taken)) for taken in range(3)]
    neighbours = [set(map(frozenset, zip(order[::2], order[1::2], strict=True))) for order in orders]
    assert all(len(a & b) < 5 for a, b in combinations(neighbours, 2))
    assert len({tie_break(7, name, 0) for name in names}) == 200
    assert all(0 <= tie_break(seed, "x", 0) < 2**63 for seed in range(100))


def test_ties_are_broken_alike_on_every_machine() -> None:
    """By another program: printf 1/2/x | b2sum -l 64, without the last bit."""
    assert tie_break(1, "x", 2) == int("e53c701b01782dca", 16) >> 1
