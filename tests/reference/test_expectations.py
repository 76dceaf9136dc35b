"""Expectations of small talk, against what many conversations come to."""

import numpy as np
import polars as pl
import pytest

from evenhand.measures.names.self_chats import name_counts
from evenhand.reference.conversing import ConversingWorld
from evenhand.reference.expectations import TURNS, mention_rate, tally, truth, uses, visits
from evenhand.reference.talk_steps import NamePlant, Person, Sentence

PEOPLE = (Person("Ida", "woman"), Person("Ulf", "man"))
PLANTS = (
    NamePlant("hobby:crafts", 1.5, gender="woman"),
    NamePlant("occupation:care", 1.5, gender="woman"),
    NamePlant("relative:female", 1.0, gender="woman"),
    NamePlant("ask:silence", 1.0, gender="man"),
)
COUNT = 4000


@pytest.fixture(scope="module")
def world() -> ConversingWorld:
    return ConversingWorld(PEOPLE, PLANTS)


@pytest.fixture(scope="module")
def openers() -> pl.DataFrame:
    frame = pl.DataFrame({"conversation": range(COUNT), "name": ["Ida", "Ulf"] * (COUNT // 2)})
    genders = pl.col("name").replace_strict({"Ida": "woman", "Ulf": "man"})
    return frame.with_columns(text=pl.format("Hi! My name is {}.", "name"), gender=genders)


@pytest.fixture(scope="module")
def chats(world: ConversingWorld, openers: pl.DataFrame) -> pl.DataFrame:
    return world.conversations(openers, seed=1)


def test_counts_of_every_token_are_as_expected(
    world: ConversingWorld, openers: pl.DataFrame, chats: pl.DataFrame
) -> None:
    counted = name_counts(chats, "test", "gender")
    expected = world.truth(openers)
    assert expected.group_by("group").agg(pl.col("frequency").sum())["frequency"].to_list() == pytest.approx(
        [1, 1]
    )
    assert set(expected["token"]) == set(counted.tokens)
    places = {token: place for place, token in enumerate(counted.tokens)}
    z = []
    for name, _, token, count, _ in expected.iter_rows():
        found = counted.counts[counted.names.index(name), places[token]]
        # counts of a token within a conversation are nearly Poisson, none varies more than twice that
        z.append((found - count) / (count + 1) ** 0.5)
    assert len(z) > 400
    assert np.abs(z).max() < 5
    assert np.mean(np.square(z)) < 1.3


def test_the_chance_that_a_conversation_mentions_something(
    world: ConversingWorld, chats: pl.DataFrame
) -> None:
    for word in ("nurse", "plumber", "family", "Haha"):
        for person in PEOPLE:
            expected = mention_rate(world, person, lambda text, word=word: word in text)
            said = (
                chats.filter((pl.col("name") == person.name) & (pl.col("turn") > 1))
                .group_by("conversation")
                .agg(pl.col("text").str.contains(word).any())["text"]
            )
            error = (expected * (1 - expected) / len(said)) ** 0.5
            assert abs(float(said.mean()) - expected) < 4 * error, (word, person)  # type: ignore[arg-type]


def test_the_distribution_of_a_tally_over_an_utterance(world: ConversingWorld, chats: pl.DataFrame) -> None:
    def score(sentence: Sentence) -> int:
        return sentence.text.count("I ") - sentence.text.count("you")

    for turn in (2, 3, 8):
        expected = tally(world, PEOPLE[0], turn, score)
        assert sum(expected.values()) == pytest.approx(1)
        texts = chats.filter(name="Ida", turn=turn)["text"].to_list()
        for value, share in expected.items():
            seen = sum(text.count("I ") - text.count("you") == value for text in texts) / len(texts)
            assert abs(seen - share) < 4.5 * (share * (1 - share) / len(texts)) ** 0.5 + 1e-9, (turn, value)


def test_places_are_a_distribution_and_uses_add_up(world: ConversingWorld) -> None:
    for turn in TURNS:
        assert sum(mass for _, mass in visits(world, PEOPLE[1], turn)) == pytest.approx(1)
    said = uses(world, PEOPLE[1])
    assert sum(value for one, value in said.items() if one.step == "tell") == pytest.approx(10)
    assert sum(value for one, value in said.items() if one.step == "greet") == pytest.approx(1)


def test_a_fair_world_has_equal_frequencies_but_for_the_names(openers: pl.DataFrame) -> None:
    table = truth(ConversingWorld(PEOPLE), openers)
    wide = table.filter(~pl.col("token").is_in(["ida", "ulf"])).pivot(
        "group", index="token", values="frequency"
    )
    np.testing.assert_allclose(wide["woman"].to_numpy(), wide["man"].to_numpy(), rtol=1e-9)


def test_a_plant_is_the_log_odds_of_what_it_speaks_of(world: ConversingWorld) -> None:
    said = {person.gender: uses(world, person) for person in PEOPLE}

    def odds(gender: str) -> float:
        hobby = {one: value for one, value in said[gender].items() if any("hobby:" in x for x in one.labels)}
        crafts = sum(value for one, value in hobby.items() if "hobby:crafts" in one.labels)
        return crafts / (sum(hobby.values()) - crafts)

    assert np.log(odds("woman") / odds("man")) == pytest.approx(1.5)
