"""Simulated judgements of pairs of conversations, with a planted preference; fast, and without a database."""

from collections.abc import Mapping
from itertools import combinations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evenhand.annotation.simulating.allocation import (
    allocate_votes,
    attitudes,
    complete_votes,
    is_spammer,
    logistic,
)
from evenhand.schema import UsageError

Numbers = NDArray[np.int64]


def simulated_votes(
    strengths: Mapping[str, float] | None = None,
    *,
    persons: int = 100,
    items_per_person: int = 5,
    votes_per_item: int = 1,
    person_sd: float = 0.0,
    item_sd: float = 0.0,
    conversations: int | None = None,
    side: float = 0.0,
    spammers: float = 0.0,
    tie: float = 0.0,
    attitude: float = 0.0,
    onboarding: int = 0,
    gold: int = 0,
    duplicates: int = 0,
    attention: float = 0.98,
    seconds: float = 40.0,
    question: str = "engaging",
    study: str = "simulated",
    seed: int = 0,
) -> pl.DataFrame:
    """Simulate votes between pairs of models' conversations, in the format of an export (VOTES).

    The logit of choosing a is: strength of a's model - strength of b's model + annotator effect + item effect
    + `side` (a on the left) or - `side` (on the right). `marginal_rate` returns the expected share of votes.

    strengths: by model (Bradley-Terry, logits); default: two equal models. All pairs of models are compared, with items
    divided evenly; a is the model named first. persons, items_per_person, votes_per_item: design for the real items;
    there are persons x items_per_person / votes_per_item of them. person_sd: SD of an annotator's effect on the
    difference of two models. item_sd: SD of a pair's effect. With `conversations` (per model, drawn with replacement),
    pairs share conversations and item_sd is the SD of the difference of two conversations. spammers: share of
    annotators who vote at random, in a tenth of the time. tie: share of votes that are "tie". attitude: added to the
    logit per SD of an annotator's attitude; `simulated_survey` with the same seed returns the ratings. onboarding,
    gold, duplicates: number per annotator, in addition to the real items. Annotators give the expected answer with
    probability `attention`, spammers with 1/2. seconds: median time.

    Raises UsageError.

    >>> votes = simulated_votes({"new": 1.0, "old": 0.0}, persons=200, items_per_person=5, seed=1)
    >>> votes.height, round((votes["answer"] == "a").mean(), 2)
    (1000, 0.72)
    """
    strengths = dict(strengths or {"model_a": 0.0, "model_b": 0.0})
    if len(strengths) < 2:
        raise UsageError(
            f"strengths must name at least two models, got {len(strengths)}.", "Pairs compare two models."
        )
    rng = np.random.default_rng([seed, 1])
    models = list(strengths)
    who, item, items = allocate_votes(persons, items_per_person, votes_per_item, rng)
    pairs = np.array(list(combinations(range(len(models)), 2)))
    pair = pairs[rng.permutation(items) % len(pairs)]  # (items, 2)
    # the difference of two independent effects then has the requested standard deviation
    tastes = person_sd / np.sqrt(2) * rng.standard_normal((persons, len(models)))
    if conversations is None:
        said = np.stack([np.arange(items), np.arange(items)], axis=1)
        effect = item_sd * rng.standard_normal(items)
    else:
        said = rng.integers(conversations, size=(items, 2))
        quality = item_sd / np.sqrt(2) * rng.standard_normal((len(models), conversations))
        effect = quality[pair[:, 0], said[:, 0]] - quality[pair[:, 1], said[:, 1]]
    strength = np.array(list(strengths.values()))
    median = strength[pair[:, 0]] - strength[pair[:, 1]] + effect
    spams = is_spammer(persons, spammers, rng)
    leaning = attitude * attitudes(persons, seed)

    def answers(who: Numbers, item: Numbers) -> tuple[list[str], list[str]]:
        left = rng.integers(2, size=len(who))  # 0: a stands there
        first, second = pair[item, 0], pair[item, 1]
        logit = median[item] + tastes[who, first] - tastes[who, second] + leaning[who] + side * (1 - 2 * left)
        chance = np.where(spams[who], 0.5, logistic(logit))
        chosen = np.where(rng.random(len(who)) < chance, "a", "b")
        if tie:
            chosen = np.where(rng.random(len(who)) < tie, "tie", chosen)
        return chosen.tolist(), np.array(["a", "b"])[left].tolist()

    def make_votes(who: Numbers, item: Numbers, role: str) -> pl.DataFrame:
        chosen, left = answers(who, item)
        names = np.array(models, dtype=object)[pair[item]]
        return pl.DataFrame(
            {
                "who": who,
                "role": role,
                "item": [f"pair-{number:05d}" for number in item],
                "answer": chosen,
                "shown_left": left,
                "a": [
                    f"{name}-{number:05d}" for name, number in zip(names[:, 0], said[item, 0], strict=True)
                ],
                "b": [
                    f"{name}-{number:05d}" for name, number in zip(names[:, 1], said[item, 1], strict=True)
                ],
                "model_a": names[:, 0].tolist(),
                "model_b": names[:, 1].tolist(),
                "order": np.arange(len(who)) / max(len(who), 1),
            }
        )

    def make_checks(number: int, role: str) -> pl.DataFrame:
        mine = np.repeat(np.arange(persons), number)
        which = np.tile(np.arange(number), persons)
        expected = np.array(["a", "b"])[which % 2]
        right = rng.random(len(mine)) < np.where(spams[mine], 0.5, attention)
        other = np.where(expected == "a", "b", "a")
        return pl.DataFrame(
            {
                "who": mine,
                "role": role,
                "item": [f"{role}-{number}" for number in which],
                "answer": np.where(right, expected, other).tolist(),
                "shown_left": np.array(["a", "b"])[rng.integers(2, size=len(mine))].tolist(),
                "a": [f"{role}-{number}-a" for number in which],
                "b": [f"{role}-{number}-b" for number in which],
                "expected": expected.tolist(),
                "correct": right,
                # onboarding comes first; gold items may be anywhere
                "order": np.full(len(mine), -1.0) if role == "onboarding" else rng.random(len(mine)),
            }
        )

    parts = [make_votes(who, item, "real")]
    if duplicates:
        # the first of each annotator's own items are repeated after the others
        seen = pl.DataFrame({"who": who, "item": item}).group_by("who", maintain_order=True).head(duplicates)
        again = make_votes(seen["who"].to_numpy(), seen["item"].to_numpy(), "duplicate")
        parts.append(again.with_columns(pl.col("order") + 1))
    parts += [
        make_checks(number, role) for number, role in ((onboarding, "onboarding"), (gold, "gold")) if number
    ]
    votes = pl.concat(parts, how="diagonal").with_columns(
        pl.lit(question).alias("question"),
        kind=pl.lit("pair"),
        measurement=pl.lit("preference"),
        groups=pl.lit("{}"),
        judgements=pl.lit("{}"),
        spams=pl.Series(spams).gather(pl.Series(np.concatenate([part["who"].to_numpy() for part in parts]))),
    )
    told = pl.format("because of point {}", pl.int_range(pl.len()))
    votes = votes.with_columns(reason=pl.when("spams").then(pl.lit("good one")).otherwise(told))
    return complete_votes(votes, seconds, study, rng)
