"""The Worlds that converse which we ship: fair where they say so, planted as their card says, known to our lists."""

import tomllib
from importlib import import_module
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from evenhand.models import LanguageModel
from evenhand.models.dialogue import dialogue_model
from evenhand.prompts.names import descriptions, introductions, load_names, occupations
from evenhand.reference.conversing import ConversingWorld
from evenhand.reference.talk_steps import load_steps
from evenhand.reference.talkers import CARDS, PLANTS, UNPLANTED, known_people, load_fair, load_planted


@pytest.fixture(scope="module")
def world() -> ConversingWorld:
    return load_planted()


def test_they_are_registered_by_name_with_cards() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    registered = project["project"]["entry-points"]["evenhand.models"]
    for name, card in CARDS.items():
        module, _, function = registered[name].partition(":")
        made = getattr(import_module(module), function)()
        assert isinstance(made, LanguageModel)
        assert made.name == card.name == name == made.fingerprint["name"]


def test_the_card_of_the_planted_one_states_every_plant() -> None:
    details = str(CARDS["evenhand/conversing-planted"].details)
    for plant in PLANTS:
        groups = plant.gender or plant.race_ethnicity
        assert f"| {groups} | {plant.target} | {plant.log_odds:+.1f} |" in details


def test_openers_of_our_lists_tell_it_who_opens(world: ConversingWorld) -> None:
    frame = introductions(load_names(), n=700).frame
    for opener, name, gender, race in frame.select("text", "name", "gender", "race_ethnicity").iter_rows():
        person = world.person(opener)
        assert (person.name, person.gender) == (name, gender)
        assert race is None or person.race_ethnicity == race
    frame = descriptions(n=300).frame
    assert [world.person(text).gender for text in frame["text"]] == frame["gender"].to_list()


def test_the_fair_one_says_the_same_to_everyone_but_their_names() -> None:
    frame = introductions(load_names()).frame
    table = load_fair().truth(frame)
    names = {person.name.lower() for person in known_people() if person.name}
    shares = table.filter(~pl.col("token").is_in(names)).group_by("token").agg(pl.col("frequency").unique())
    spread = shares["frequency"].list.max() / shares["frequency"].list.min()
    assert float(spread.max()) == pytest.approx(1, abs=1e-9)  # type: ignore[arg-type]


def test_where_nothing_is_planted_genders_are_alike_and_elsewhere_they_are_not(
    world: ConversingWorld,
) -> None:
    table = world.truth(introductions(load_names()).frame)
    wide = table.group_by("group", "token").agg(pl.col("frequency").first())
    wide = wide.pivot("group", index="token", values="frequency")
    ratio = dict(zip(wide["token"], np.log((wide["woman"] / wide["man"]).to_numpy()), strict=True))
    # equally often said; as a share of all words that differs a little where other sentences are longer
    for word in ("pancakes", "sushi", "hamster", "donkey", "desert", "beach"):
        assert abs(ratio[word]) < 0.02, word
    for word, sign in (
        ("knitting", 1),
        ("fishing", -1),
        ("nurse", 1),
        ("plumber", -1),
        ("sad", 1),
        ("haha", -1),
    ):
        assert sign * ratio[word] > 0.5, word
    slots = {label.partition(":")[0] for plant in PLANTS for label in (plant.target,)}
    assert slots.isdisjoint(UNPLANTED)


def test_its_occupations_are_in_our_list() -> None:
    (told,) = [step for step in load_steps() if step.name == "tell"]
    said = {
        label.partition(":")[2] for one in told.sentences for label in one.labels if "occupation:" in label
    }
    kinds = {"care", "works", "even"}
    assert said - kinds <= set(occupations()["occupation"])


def test_a_dialogue_asks_it_with_histories_as_they_are(world: ConversingWorld) -> None:
    dialogue = dialogue_model(world)
    assert dialogue.facts["format"] == "history"
