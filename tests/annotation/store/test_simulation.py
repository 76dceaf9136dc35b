"""Many persons who come, go, are late, are blocked and withdraw, in random order: what must hold holds all the time."""

from collections.abc import Callable
from datetime import timedelta
from random import Random

import polars as pl
import pytest

from evenhand.annotation.definition import Item, template
from evenhand.annotation.quality import apply_rules
from evenhand.annotation.simulating import Population, simulate
from evenhand.annotation.store import (
    EndVisit,
    LeaseLost,
    Store,
    UnitDone,
    administration,
    begin_study,
    sittings,
)
from evenhand.schema import VOTES, UsageError
from tests.annotation.store.persons import START, act, check, come, pair, rows, show, study, work

HELD_BY_OTHERS = (
    "SELECT i.name FROM presentations p JOIN items i ON i.id = p.item_id JOIN persons q ON q.id = p.person_id "
    "WHERE p.slot IS NOT NULL AND q.pseudonym <> :person"
)


class Crowd:
    """Persons with a will of their own, seeded."""

    def __init__(self, store: Store, seed: int, most: int):
        self.store, self.random, self.most = store, Random(seed), most
        self.now, self.persons, self.ended = START, [], {}
        self.late: list[tuple[str, object]] = []
        """Pages that lie open."""

    def move(self) -> None:
        """One thing happens."""
        self.now += timedelta(seconds=self.random.randint(1, 90))
        if (len(self.persons) < self.most and self.random.random() < 0.2) or not self.persons:
            self.persons.append(come(self.store, self.now))
            return
        person = self.random.choice(self.persons)
        event = self.random.random()
        if event < 0.01:
            self.now += timedelta(minutes=40)  # all leases run out
        elif event < 0.02:
            sittings.withdraw(self.store, person, self.now)
            self.persons.remove(person)
            self.late = [(one, page) for one, page in self.late if one != person]
        elif event < 0.04:
            administration.block(self.store, person, self.random.random() < 0.6, "me", self.now)
        elif event < 0.06:
            decision = self.random.choice(["accepted", "rejected", None])
            administration.review(self.store, person, decision, "", "me", self.now)
        elif event < 0.07:
            administration.pause(self.store, self.random.random() < 0.3, "me", self.now)
        elif event < 0.15 and self.late:
            self.act(*self.late.pop(self.random.randrange(len(self.late))))
        else:
            there = sittings.step(self.store, person, self.now)
            if isinstance(there, EndVisit):
                self.ended[person] = there.why
            elif event < 0.3:
                self.late.append((person, there))
            else:
                self.act(person, there)

    def act(self, person: str, there: object) -> None:
        try:
            act(self.store, person, there, self.now, lambda item, question: self.random.choice("ab"))
        except LeaseLost:
            pass
        except UsageError as error:
            # a page of a person who has withdrawn since
            assert "take part" in str(error)

    def finish(self) -> None:
        """Nobody is blocked or late any more, and enough come to do the rest."""
        administration.pause(self.store, False, "me", self.now)
        for _ in range(400):
            self.now += timedelta(minutes=60)
            person = come(self.store, self.now)
            while act(self.store, person, sittings.step(self.store, person, self.now), self.now):
                self.now += timedelta(seconds=5)
            if not rows(self.store, "SELECT 1 FROM items WHERE done < wanted"):
                return


def overlapping() -> list[dict]:
    """30 pairs of 24 conversations: every conversation stands in two or three."""
    random = Random(3)
    return [pair(f"i{n}", f"a-{random.randrange(12)}", f"b-{random.randrange(12)}") for n in range(30)]


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_a_crowd_leaves_every_quota_exact(new_address: Callable[[], str], seed: int) -> None:
    hidden = {"gold": [pair(f"g{n}", expected={"who": "a"}) for n in range(3)], "gold_per_unit": 1}
    store = begin_study(
        new_address(),
        study(
            overlapping(),
            assignment={"annotations_per_item": 2 + seed, "items_per_unit": 4, "units_per_person": 3},
            hidden=hidden | {"duplicates_per_unit": 1},
            survey=[{"kind": "scale", "id": "sdo", "use": "sdo7", "draw": 3}],
        ),
    )
    crowd = Crowd(store, seed, 14)
    for number in range(350):
        crowd.move()
        if number % 10 == 0:
            check(store)
    crowd.finish()
    check(store)
    assert not rows(store, "SELECT 1 FROM items WHERE role = 'real' AND (done < wanted OR taken <> done)")
    for row in rows(store, "SELECT left_a, left_b, wanted FROM items WHERE role = 'real'"):
        assert sorted((row.left_a, row.left_b)) == [row.wanted // 2, (row.wanted + 1) // 2]
    exported = list(administration.votes(store))
    counted = {
        row["presentation"]: row["item"]
        for row in exported
        if row["role"] == "real" and row["review"] != "rejected" and row["excluded"] is None
    }
    of_item = {f"i{n}": list(counted.values()).count(f"i{n}") for n in range(30)}
    assert set(of_item.values()) == {2 + seed}
    store.close()


def test_votes_spread_evenly_while_they_come(store_address: str) -> None:
    store = begin_study(store_address, study(20, assignment={"items_per_unit": 3, "units_per_person": 1}))
    for _ in range(20):
        person = come(store)
        while act(store, person, sittings.step(store, person, START), START):
            taken = [row.taken for row in rows(store, "SELECT taken FROM items")]
            assert max(taken) - min(taken) <= 1
    assert {row.done for row in rows(store, "SELECT done FROM items")} == {3}
    store.close()


@pytest.mark.slow
def test_the_same_arrivals_get_the_same_items_on_the_same_sides(new_address: Callable[[], str]) -> None:
    """Whatever the database: the draws hang on the seed and the number of the person alone."""
    seen = []
    for seed in (5, 5, 6):
        store = begin_study(new_address(), study(12, seed=seed, hidden={"duplicates_per_unit": 1}))
        for _ in range(3):
            person = come(store)
            while act(store, person, sittings.step(store, person, START), START):
                pass
        order = (
            'SELECT i.name, p.position, p."left", p.role FROM presentations p '
            "JOIN items i ON i.id = p.item_id ORDER BY p.id"
        )
        seen.append([tuple(row) for row in rows(store, order)])
        store.close()
    assert seen[0] == seen[1] != seen[2]


def test_votes_that_count_fill_every_quota_though_rules_exclude_people_who_go_on(store_address: str) -> None:
    """The two rules of ACUTE-Eval, three in ten answering without a look: as the export counts, nothing lacks."""
    rules = template("acute")["rules"]
    assert [(rule["mark"], rule["action"]) for rule in rules] == [(0.75, "block"), (1.0, "exclude")]
    onboarding = {"items": [pair(f"o{n}", expected={"who": "ab"[n % 2]}) for n in range(4)]}
    store = begin_study(
        store_address,
        study(
            16,
            rules=rules,
            onboarding=onboarding,
            assignment={"annotations_per_item": 3, "items_per_unit": 4},
        ),
    )
    sat = simulate(store, 40, Population(spammers=0.3, attention=0.93, seed=5))
    check(store)
    export = apply_rules(pl.DataFrame(list(administration.votes(store)), schema=VOTES), store.study.rules)
    real = export.filter(pl.col("role") == "real")
    out = real.filter(pl.col("excluded").is_not_null())
    # some were excluded and went on, as unaware as the others
    assert out["excluded"].unique().to_list() == ["onboarding_below"] and out["person"].n_unique() >= 3
    assert {one.end.why for one in sat if one.person in set(out["person"])} <= {"enough", "nothing left"}
    counts = real.filter(pl.col("excluded").is_null()).group_by("item").len()
    assert counts["len"].to_list() == [3] * 16
    progress = administration.progress(store, START)
    assert (progress.votes, progress.leased, progress.items_complete) == (48, 0, 16)
    # under no rules the votes that were given back stand there again
    assert apply_rules(export, ())["excluded"].null_count() == export.height
    store.close()


def test_votes_count_again_where_there_is_room_when_a_rule_holds_no_more(store_address: str) -> None:
    """One of two hidden answers wrong is too many, one of four is not."""
    golds = [pair(f"g{n}", expected={"who": "a"}) for n in range(4)]
    store = begin_study(
        store_address,
        study(
            8,
            hidden={"gold": golds, "gold_per_unit": 2},
            rules=[{"rule": "gold_below", "mark": 0.75, "least": 2, "action": "exclude"}],
            assignment={"annotations_per_item": 1, "items_per_unit": 4, "units_per_person": 2},
        ),
    )
    person, wrong = come(store), []

    def errs_once(item: Item, question: str) -> str:
        if item.expected and not wrong:
            wrong.append(item.id)
        return "b" if wrong == [item.id] else "a"

    assert isinstance(there := work(store, person, judge=errs_once, most=6), UnitDone) and there.more
    check(store)
    assert administration.progress(store, START).votes == 0
    # somebody else gets one of the places, and the first person goes on with what is left
    other = show(store, come(store))
    mine = {row["item"] for row in administration.votes(store, person=person) if row["role"] == "real"}
    work(store, person, judge=errs_once)
    check(store)
    export = apply_rules(pl.DataFrame(list(administration.votes(store)), schema=VOTES), store.study.rules)
    real = export.filter(pl.col("role") == "real")
    taken = mine & {row.name for row in rows(store, HELD_BY_OTHERS, person=person)}
    assert other.item.id in {row.name for row in rows(store, HELD_BY_OTHERS, person=person)}
    assert set(real.filter(pl.col("excluded") == "place_taken")["item"]) == taken
    assert (
        real.filter(pl.col("excluded").is_null()).height == administration.progress(store, START).votes == 4
    )
    store.close()
