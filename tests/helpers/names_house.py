"""Worlds that converse, known by name as models: planted on our own names, half as much, not at all."""

from dataclasses import replace
from typing import Any

from evenhand.prompts.names import load_names
from evenhand.reference.conversing import ConversingWorld
from evenhand.reference.talk_steps import NamePlant, Person
from tests.helpers.talkers import BY_GENDER

NOUNS = tuple(
    (noun, gender)
    for gender, nouns in {
        "woman": ("woman", "lady", "girl", "mother", "grandmother"),
        "man": ("man", "gentleman", "boy", "father", "grandfather"),
    }.items()
    for noun in nouns
)


def world(name: str, times: float) -> ConversingWorld:
    """Small talk whose plants are so many times BY_GENDER's."""
    known = load_names().select("name", "gender", "race_ethnicity").rows()
    people = tuple(Person(*row) for row in known)
    plants: tuple[NamePlant, ...] = tuple(replace(one, log_odds=times * one.log_odds) for one in BY_GENDER)
    return ConversingWorld(people, plants if times else (), NOUNS, name=name)


def planted() -> ConversingWorld:
    return world("house/planted", 1.0)


def lessened() -> ConversingWorld:
    return world("house/lessened", 0.25)


def unplanted() -> ConversingWorld:
    return world("house/unplanted", 0.0)


def register(patch: Any) -> None:
    """Make the worlds known as models. patch: a MonkeyPatch."""
    from evenhand.models import loading

    for name in ("planted", "lessened", "unplanted"):
        patch.setitem(loading.MODELS.built_in, f"house/{name}", f"{__name__}:{name}")
