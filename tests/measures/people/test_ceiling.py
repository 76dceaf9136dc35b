"""Reliability and ceiling: limits over persons, items and prompts hold where they are told."""

import numpy as np
import pytest

from evenhand.measures.people.ceiling import people_of
from evenhand.stats import Floats

Drawn = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def drawn(
    rng: np.random.Generator, items: int, votes: int, persons: int, *, own: float = 1.0, shared: float = 0.0,
    prompts: int = 0, centre: float = 0.0, habit: float = 0.0,
) -> Drawn:  # fmt: skip
    """Yes or no to items, those of one prompt alike: items, persons, prompts, values of each vote; what items have."""
    prompt = np.arange(items) % prompts if prompts else np.arange(items)
    truth = own * rng.normal(size=items) + shared * rng.normal(size=items)[prompt]
    who = np.array([rng.choice(persons, votes, replace=False) for _ in range(items)])
    logit = centre + truth[:, None] + habit * rng.normal(size=persons)[who]
    yes = rng.random((items, votes)) < 1 / (1 + np.exp(-logit))
    item = np.repeat(np.arange(items), votes)
    return item, who.ravel(), prompt[item], yes.ravel().astype(float), truth


def reliability_of(asked: dict[str, float]) -> float:
    """Of two groups of as many raters on very many items, each with persons of its own."""
    rng = np.random.default_rng(0)
    spread = float(np.hypot(asked.get("own", 1.0), asked.get("shared", 0.0)))
    truth = asked.get("centre", 0.0) + spread * rng.normal(size=200_000)

    def means() -> Floats:
        logit = truth[:, None] + asked.get("habit", 0.0) * rng.normal(size=(len(truth), int(asked["votes"])))
        return np.asarray((rng.random(logit.shape) < 1 / (1 + np.exp(-logit))).mean(axis=1))

    return float(np.corrcoef(means(), means())[0, 1])


@pytest.mark.slow
@pytest.mark.parametrize(
    "asked",
    [
        {"items": 150, "votes": 3, "persons": 40, "own": 0.3, "shared": 1.2, "prompts": 15},
        {"items": 100, "votes": 3, "persons": 10, "habit": 2.0},
        {"items": 100, "votes": 3, "persons": 30, "centre": -3.5, "own": 1.5},
        {"items": 60, "votes": 4, "persons": 60},
    ],
)
def test_limits_hold_where_they_are_told(asked: dict[str, float]) -> None:
    truth, rng, held, told = reliability_of(asked), np.random.default_rng(1), 0, 0
    for seed in range(80):
        items, persons, prompts, values, _ = drawn(rng, **asked)  # type: ignore[arg-type]
        shared = asked.get("prompts")
        people = people_of(items, persons, prompts, values, prompts=shared, counted=True, seed=seed)  # type: ignore[arg-type]
        if people.obstacle is None:
            told += 1
            held += people.reliability[1] <= truth <= people.reliability[2]
    assert told >= 30 and held / told >= 0.88  # of 80 where 93 % hold


def test_the_corrected_correlation_lets_prompts_pull_texts_together() -> None:
    held = told = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        items, persons, prompts, values, _ = drawn(rng, 200, 3, 40, own=0.3, shared=1.2, prompts=20)
        noise = rng.normal(size=200)[np.arange(200) % 20]  # a classifier that knows nothing, by prompt
        found = people_of(items, persons, prompts, values, prompts=20, counted=True, seed=seed).corrected(
            noise, seed
        )
        if "estimate" in found:
            told += 1
            held += float(str(found["low"])) <= 0 <= float(str(found["high"]))
    assert told >= 30 and held / told >= 0.87


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"items": 100, "votes": 3, "persons": 5}, "5 persons voted; at least 10"),
        ({"items": 100, "votes": 3, "persons": 40, "prompts": 5}, "Items share 5 prompts; at least 15"),
        ({"items": 60, "votes": 3, "persons": 40, "centre": -5.0}, "two votes for the rarer side"),
        ({"items": 100, "votes": 1, "persons": 40}, "0 items have two votes"),
    ],
)
def test_what_cannot_be_known_is_not_told(asked: dict[str, float], why: str) -> None:
    items, persons, prompts, values, _ = drawn(np.random.default_rng(2), **asked)  # type: ignore[arg-type]
    shared = asked.get("prompts")
    found = people_of(items, persons, prompts, values, prompts=shared, counted=True, seed=0)  # type: ignore[arg-type]
    assert why in str(found.obstacle)
