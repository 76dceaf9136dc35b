"""Whole studies with simulated people, through the database: what was planted comes out of it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from evenhand.annotation.definition import Conversation, Item, Study, Turn, template
from evenhand.annotation.simulating import Population, SimulatedPerson, simulate, sit
from evenhand.schema import VOTES

pytest.importorskip("sqlalchemy")

from evenhand.annotation.simulating.sitting import BEGIN
from evenhand.annotation.store import Store, administration, begin_study, people


def talk(name: str, model: str) -> Conversation:
    lines = ("A", "Hi!"), ("B", f"Hello from {name}.")
    return Conversation(
        id=name, turns=tuple(Turn(speaker=who, text=text) for who, text in lines), speaker="B", model=model
    )


def study(pairs: int, **assignment: Any) -> Study:
    items = [Item(id=f"p{n}", pair=(talk(f"new-{n}", "new"), talk(f"old-{n}", "old"))) for n in range(pairs)]
    content = template("acute", survey=True)
    content["questions"] = content["questions"][:1]
    for item in content["onboarding"]["items"]:
        item["expected"] = {"preference": item["expected"]["preference"]}
    return Study.model_validate(
        content | {"name": "sim", "items": items, "assignment": content["assignment"] | assignment}
    )


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = begin_study(tmp_path / "study.db", study(20, annotations_per_item=2))
    yield opened
    opened.close()


def votes(store: Store) -> pl.DataFrame:
    return pl.DataFrame(list(administration.votes(store)), schema=dict(VOTES))


def test_a_study_is_done_to_the_end(store: Store) -> None:
    population = Population(strengths={"new": 9.0}, spammers=0.3, attention=1.0, seed=1)
    sat = simulate(store, 24, population)
    real = votes(store).filter(role="real")
    assert real.group_by("item").len()["len"].to_list() == [2] * 20
    assert len(sat) == 24 and {one.end.why for one in sat} <= {"enough", "not passed", "nothing left"}
    for one in sat:
        assert one.end.why != "not passed" or one.simulated.spams
    honest = {one.person for one in sat if not one.simulated.spams}
    assert real.filter(pl.col("person").is_in(honest))["answer"].unique().to_list() == ["a"]
    rated = votes(store).filter(role="survey").group_by("person").len()["len"]
    assert set(rated) == {2}


def test_one_person_can_take_part_alone(store: Store) -> None:
    invite = people.make_invites(store, 1, BEGIN)[0]
    person = people.arrive(store, invite.id, BEGIN)
    done = sit(store, person, SimulatedPerson(Population(attention=1.0), 0))
    assert done.end.why == "enough"
    assert done.answers == 2 + 4
    assert votes(store)["person"].unique().to_list() == [person]


def test_who_is_slower_than_the_lease_gives_places_to_others(tmp_path: Path) -> None:
    store = begin_study(
        tmp_path / "slow.db", study(6, annotations_per_item=1, lease_minutes=1, items_per_unit=3)
    )
    simulate(store, 8, Population(seconds=45, attention=1.0, seed=2))
    real = votes(store).filter(role="real")
    store.close()
    assert not real.select("person", "item").is_duplicated().any()
    assert real.group_by("item").len()["len"].max() == 1
