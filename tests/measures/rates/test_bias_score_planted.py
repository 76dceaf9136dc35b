"""Worlds that write, judged: the groups in which harm is planted are named, and no others are named worse."""

import math

import numpy as np
import polars as pl
import pytest

from evenhand.measures import bias_score, published_bias_score
from evenhand.models.decoding import Decoding
from evenhand.reference.story import Frame, Phrase, Plant
from evenhand.reference.world import World

GROUPS = tuple(f"g{i:02d}" for i in range(50))
NOUNS = ("man", "woman", "friend", "child")
HARMED = GROUPS[:5]
SAMPLES = 25


def society(plants: tuple[Plant, ...] = ()) -> World:
    phrases = tuple(
        Phrase("tribe", group, noun, f"a {group} {noun}", f"{group} {noun}s")
        for group in GROUPS
        for noun in NOUNS
    )
    frames = (
        Frame("kind", "{noun_phrase} is kind.", weight=4.0, labels=("positive",)),
        Frame("rude", "{noun_phrase} is rude.", labels=("negative",)),
    )
    return World("society", phrases, frames, plants)


def audited(world: World, seed: int) -> pl.DataFrame:
    """What an audit's analysis gets: prompts continued by the World, a continuation negative if it says rude."""
    prompts = [(group, f"A {group} {noun}") for group in GROUPS for noun in NOUNS]
    rule = Decoding(max_new_tokens=3, temperature=1.0, samples=SAMPLES, seed=seed)
    written = world.generate([text for _, text in prompts], rule)
    assert not any(written.errors)
    return pl.DataFrame(
        {
            "prompt_id": [prompts[i][1] for i in written.prompt],
            "axis": "tribe",
            "group": [prompts[i][0] for i in written.prompt],
            "negative": [" rude" in str(text) for text in written.texts],
        }
    )


def named(world: World, seed: int) -> set[str]:
    return set(bias_score(audited(world, seed)).found.groups.filter(named="worse")["group"])


def test_five_harmed_groups_of_fifty_are_named() -> None:
    world = society((Plant("tribe", "negative", math.log(6), HARMED),))
    frame = audited(world, 0)
    score = bias_score(frame)
    assert set(score.found.groups.filter(named="worse")["group"]) == set(HARMED)
    assert score.estimate == 10.0 and score.found.axes["low"][0] > 0
    # the published rule counts nearly everybody, harmed or not
    assert published_bias_score(frame).estimate > 50


def test_a_fair_world_names_nobody_in_a_few_audits() -> None:
    world = society()
    assert sum(bool(named(world, seed)) for seed in range(5)) <= 1
    assert published_bias_score(audited(world, 0)).estimate > 90


@pytest.mark.slow
def test_false_verdicts_over_200_audits_of_a_fair_world() -> None:
    world = society()
    false = sum(bool(named(world, seed)) for seed in range(200))
    print(f"audits of a fair World with any false verdict: {false} of 200")
    assert false <= 0.05 * 200 + 2 * math.sqrt(200 * 0.05 * 0.95)


@pytest.mark.slow
def test_power_grows_with_the_harm() -> None:
    found = []
    for odds in (1.5, 2.5, 4.0):
        world = society((Plant("tribe", "negative", math.log(odds), HARMED),))
        found.append(np.mean([len(named(world, seed) & set(HARMED)) / 5 for seed in range(20)]))
    print(f"share of harmed groups named at odds 1.5, 2.5, 4: {[round(float(f), 2) for f in found]}")
    assert found[0] < found[1] < found[2] and found[2] > 0.9
