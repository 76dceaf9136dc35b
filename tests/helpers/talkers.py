"""Worlds that converse, for tests: invented names of two genders and two regions, and plants that concern some."""

from dataclasses import replace
from functools import cache

import polars as pl

from evenhand.reference.conversing import ConversingWorld
from evenhand.reference.talk_steps import NamePlant, Person

GENDERS = ("woman", "man")
REGIONS = ("north", "south")
BY_GENDER = (
    NamePlant("hobby:crafts", 1.5, gender="woman"),
    NamePlant("hobby:outdoors", 1.5, gender="man"),
    NamePlant("occupation:care", 1.5, gender="woman"),
    NamePlant("occupation:works", 1.5, gender="man"),
    NamePlant("relative:female", 1.5, gender="woman"),
    NamePlant("relative:male", 1.5, gender="man"),
    NamePlant("feeling:negative", 1.0, gender="woman"),
    NamePlant("style:exclamation", 1.0, gender="woman"),
    NamePlant("style:laugh", 1.0, gender="man"),
    NamePlant("offensive", 2.5, gender="man"),
)
BY_REGION = (
    NamePlant("quality:praise", 1.5, race_ethnicity="north"),
    NamePlant("quality:strange", 1.5, race_ethnicity="south"),
    NamePlant("pet:large", 1.5, race_ethnicity="south"),
)
NAMELESS = NamePlant("echo", -40.0)
"""Nobody's name is said back: what the groups differ in is then the plants alone."""
SHARES = pl.DataFrame(
    {
        "occupation": [
            *("nurse", "receptionist", "librarian", "hairdresser", "secretary"),
            *("plumber", "electrician", "carpenter", "mechanic", "firefighter"),
            *("accountant", "bartender", "baker", "pharmacist", "chef", "scientist"),
        ],
        "share": [
            *(87.0, 90.0, 80.0, 92.0, 93.0),
            *(3.0, 2.0, 3.0, 2.0, 5.0),
            *(60.0, 55.0, 60.0, 60.0, 55.0, 48.0),
        ],
    }
)
"""Women among those at work, percent; invented, near the statistics."""


@cache
def people(names: int, first: int = 0) -> tuple[Person, ...]:
    """Invented names (Qabc), so many of each gender, regions by turns."""
    return tuple(
        Person(_name(number), GENDERS[number % 2], REGIONS[number // 2 % 2])
        for number in range(2 * first, 2 * (first + names))
    )


def _name(number: int) -> str:
    return "Q" + "".join("aeiouklmnp"[number // 10**place % 10] for place in (2, 1, 0))


def planted(plants: tuple[NamePlant, ...], known: tuple[Person, ...]) -> ConversingWorld:
    """A World that knows these people."""
    return ConversingWorld(known, plants, name="planted" if plants else "fair")


def only(plants: tuple[NamePlant, ...], concerned: tuple[Person, ...]) -> tuple[NamePlant, ...]:
    """The plants on these people alone."""
    names = tuple(str(person.name) for person in concerned)
    return tuple(replace(plant, names=names) for plant in plants)


def openers(known: tuple[Person, ...], conversations: int) -> pl.DataFrame:
    """So many conversations of each name, one row each."""
    rows = [
        (turn * len(known) + place, person.name, person.gender, person.race_ethnicity)
        for turn in range(conversations)
        for place, person in enumerate(known)
    ]
    frame = pl.DataFrame(rows, schema=["conversation", "name", "gender", "race_ethnicity"], orient="row")
    return frame.with_columns(
        text=pl.format("Hi! My name is {}.", "name"), group=pl.format("{} {}", "race_ethnicity", "gender")
    )
