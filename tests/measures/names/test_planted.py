"""Every measure of names on conversations whose bias is planted: what is to be found is known exactly.

30 names of each gender with 8 conversations each: half are concerned by the plants, half are not.
"""

import math
from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest

from evenhand.classifiers import load_classifier
from evenhand.measures.names.genderedness import classifier_bias
from evenhand.measures.names.intersections import intersectional_token_bins
from evenhand.measures.names.name_phrases import gini, name_phrases
from evenhand.measures.names.occupations import occupation_lean
from evenhand.measures.names.overindexed import overindexed_words
from evenhand.measures.names.token_bins import token_bins
from evenhand.reference.conversing import ConversingWorld
from evenhand.reference.expectations import mention_rate, tally, truth, uses
from evenhand.reference.talk_steps import Person, Sentence
from evenhand.stats import Floats
from tests.helpers.talkers import (
    BY_GENDER,
    BY_REGION,
    GENDERS,
    NAMELESS,
    REGIONS,
    SHARES,
    only,
    openers,
    people,
    planted,
)

CONCERNED, OTHERS = people(30), people(30, first=30)
CHATS = 8


@pytest.fixture(scope="module")
def world() -> ConversingWorld:
    return planted((*only((*BY_GENDER, *BY_REGION), CONCERNED), NAMELESS), CONCERNED + OTHERS)


@pytest.fixture(scope="module")
def chats(world: ConversingWorld) -> pl.DataFrame:
    return judged(world.conversations(openers(CONCERNED, CHATS), seed=1))


@pytest.fixture(scope="module")
def unplanted(world: ConversingWorld) -> pl.DataFrame:
    return judged(world.conversations(openers(OTHERS, CHATS), seed=2))


def judged(frame: pl.DataFrame) -> pl.DataFrame:
    """With what our list of gendered words tells of each utterance."""
    labels = load_classifier("evenhand/gendered-words").classify(frame["text"].to_list()).labels
    return frame.with_columns(predicted=pl.Series(labels, dtype=pl.String))


def expected_counts(
    world: ConversingWorld, known: Sequence[Person], group: str, groups: Sequence[str]
) -> tuple[list[str], Floats]:
    """Tokens, and how often each is said in all conversations of each group on average, (groups, V)."""
    table = truth(world, openers(tuple(known), CHATS), group)
    wide = (
        table.group_by("group", "token")
        .agg(pl.col("count").sum())
        .pivot("group", index="token", values="count")
        .fill_null(0.0)
        .sort("token")
    )
    return wide["token"].to_list(), np.array([wide[one].to_numpy() for one in groups])


def expected_length(counts: Floats, bins_of, entries: Sequence[tuple[int, int]], n_bins: int) -> float:  # type: ignore[no-untyped-def]
    """What the cross-fitted number is to be when bins are found with half of so many tokens, by simulation with loops
    of its own: bins from Poisson counts, overindexing in them from the exact frequencies."""
    rng = np.random.default_rng(0)
    exact = counts / counts.sum(axis=1, keepdims=True)

    def over(shares: Floats, bins: list[int]) -> list[float]:
        found = []
        for group, place in entries:
            mass = [sum(v for v, b in zip(row, bins, strict=True) if b == place) for row in shares]
            found.append(mass[group] / (sum(mass) / len(mass)) - 1)
        return found

    lengths = []
    for _ in range(12):
        drawn = rng.poisson(counts / 2) + 0.5
        seen = drawn / drawn.sum(axis=1, keepdims=True)
        bins = bins_of(seen)
        direction, real = over(seen, bins), over(exact, bins)
        lengths.append(sum(a * b for a, b in zip(direction, real, strict=True)) / math.hypot(*direction))
    return float(np.mean(lengths))


def six_bins(seen: Floats) -> list[int]:
    both = (seen[0] + seen[1]) / 2
    bins, before = [0] * len(both), 0.0
    for token in sorted(range(len(both)), key=lambda token: -seen[0][token] / both[token]):
        bins[token] = min(5, int(6 * (before + both[token] / 2)))
        before += both[token]
    return bins


def largest(seen: Floats) -> list[int]:
    return [max(range(len(seen)), key=lambda group: seen[group][token]) for token in range(seen.shape[1])]


def the_row(table: pl.DataFrame) -> dict[str, float]:
    (row,) = table.to_dicts()
    assert row["obstacle"] is None
    return row


def found(table: pl.DataFrame, expected: float) -> None:
    """The interval excludes 0 and holds the truth."""
    row = the_row(table)
    assert row["p"] < 1e-3
    assert 0 < row["low"] < expected < row["high"], (row, expected)


def nothing_found(table: pl.DataFrame) -> None:
    row = the_row(table)
    assert row["p"] > 0.05
    assert row["low"] < 0 < row["high"]


def test_token_bins(world: ConversingWorld, chats: pl.DataFrame, unplanted: pl.DataFrame) -> None:
    _, counts = expected_counts(world, CONCERNED, "gender", GENDERS)
    entries = [(0, place) for place in range(6)]
    found(token_bins(chats, draws=1).result, expected_length(counts, six_bins, entries, 6))
    nothing_found(token_bins(unplanted, draws=1).result)
    _, equal = expected_counts(world, OTHERS, "gender", GENDERS)
    np.testing.assert_allclose(equal[0] / equal[0].sum(), equal[1] / equal[1].sum(), rtol=1e-9, atol=1e-15)


def test_the_published_token_bins_find_bias_where_there_is_none(unplanted: pl.DataFrame) -> None:
    row = token_bins(unplanted, draws=19).published.to_dicts()[0]
    assert row["l2"] > 0.08  # the truth is 0
    assert row["l2"] < 1.2 * row["null_97_5"]


def test_intersectional_token_bins(
    world: ConversingWorld, chats: pl.DataFrame, unplanted: pl.DataFrame
) -> None:
    groups = sorted(f"{region} {gender}" for region in REGIONS for gender in GENDERS)
    _, counts = expected_counts(world, CONCERNED, "group", groups)
    entries = [(place, place) for place in range(4)]
    found(intersectional_token_bins(chats, draws=1).result, expected_length(counts, largest, entries, 4))
    nothing_found(intersectional_token_bins(unplanted, draws=1).result)


def test_overindexed_words_are_the_planted_ones_at_their_ratio(
    world: ConversingWorld, chats: pl.DataFrame, unplanted: pl.DataFrame
) -> None:
    tokens, counts = expected_counts(world, CONCERNED, "gender", GENDERS)
    exact = dict(zip(tokens, (counts / counts.sum(axis=1, keepdims=True)).T, strict=True))
    table = overindexed_words(chats, shown=8)
    assert table.height == 16
    for row in table.iter_rows(named=True):
        mine, other = exact[row["word"]] if row["group"] == "woman" else exact[row["word"]][::-1]
        assert mine > 1.5 * other, row["word"]  # a planted word indeed
        assert row["z"] > 3
        assert row["n_names"] > 5
        # the count is nearly Poisson
        assert row["ratio"] == pytest.approx(2 * mine / (mine + other), abs=4.5 / row["count"] ** 0.5)
    # of the other names, the words that come first are said by chance, and z says so for nearly all
    assert (overindexed_words(unplanted, shown=8)["z"] > 3).sum() <= 1


def test_name_phrases_are_as_uneven_as_planted(
    world: ConversingWorld, chats: pl.DataFrame, unplanted: pl.DataFrame
) -> None:
    person = {region: next(one for one in CONCERNED if one.race_ethnicity == region) for region in REGIONS}
    rates = {
        region: {
            word: _rate(uses(world, person[region], [2]), f" {word} name") for word in ("pretty", "real")
        }
        for region in REGIONS
    }
    table = {row["phrase"]: row for row in name_phrases(chats, least=10).iter_rows(named=True)}
    for word, region in (("pretty", "north"), ("real", "south")):
        exact = [rates[one][word] for one in REGIONS]
        row = table[f"{word} name"]
        assert row["group"] == region
        assert row["gini"] > row["gini_null_97_5"]
        assert not row["one_name"]
        share = exact[REGIONS.index(region)] / sum(exact)
        error = (share * (1 - share) / row["n_uses"]) ** 0.5
        assert row[f"share_{region}"] / 100 == pytest.approx(share, abs=4 * error)
        assert row["gini"] == pytest.approx(gini(np.array(exact)), abs=4 * error)
    other = name_phrases(unplanted, least=10)
    assert (other["gini"] > other["gini_null_97_5"]).sum() <= 1


def _rate(said: dict[Sentence, float], phrase: str) -> float:
    return sum(value for one, value in said.items() if phrase in one.text)


def test_occupations(world: ConversingWorld, chats: pl.DataFrame, unplanted: pl.DataFrame) -> None:
    titles, at_work = SHARES["occupation"].to_list(), SHARES["share"].to_numpy()
    rates = np.array(
        [
            [mention_rate(world, person, lambda text, title=title: f" {title}" in text) for title in titles]
            for person in CONCERNED[:2]
        ]
    )
    lean = rates @ at_work / rates.sum(axis=1)
    result = occupation_lean(chats, SHARES, resamples=99)
    found(result.result, float(lean[0] - lean[1]))
    exact = 100 * rates[0] / rates.sum(axis=0)
    for row, share, rate in zip(
        result.occupations.iter_rows(named=True), exact, rates.sum(axis=0), strict=True
    ):
        error = 100 * (share / 100 * (1 - share / 100) / (rate * 30 * CHATS)) ** 0.5
        assert row["share_said"] == pytest.approx(share, abs=4 * error), row["occupation"]
    correlation = result.correlations.filter(kind="mentioned").to_dicts()[0]
    # chance in the shares makes r smaller, never much larger
    assert 0.5 < correlation["r"] < np.corrcoef(exact, at_work)[0, 1] + 0.05
    assert correlation["low"] > 0
    nothing_found(occupation_lean(unplanted, SHARES, resamples=9).result)


def test_classifier_bias(world: ConversingWorld, chats: pl.DataFrame, unplanted: pl.DataFrame) -> None:
    def score(sentence: Sentence) -> int:
        return ("relative:female" in sentence.labels) - ("relative:male" in sentence.labels)

    def accuracy(person: Person, turn: int) -> float:
        sign = 1 if person.gender == "woman" else -1
        return sum(
            share * (0.5 if value == 0 else float(value * sign > 0))
            for value, share in tally(world, person, turn, score).items()
        )

    by_turn = [
        100 * (sum(accuracy(person, turn) for person in CONCERNED[:2]) / 2 - 0.5) for turn in range(2, 13)
    ]
    result = classifier_bias(chats)
    for speaker, expected in (
        (None, np.mean(by_turn)),
        ("A", np.mean(by_turn[1::2])),
        ("B", np.mean(by_turn[::2])),
    ):
        found(result.rows.filter(pl.col("speaker").eq_missing(speaker)), float(expected))
    for row in result.turns.iter_rows(named=True):
        error = 50 * (2 * 0.15 / (30 * CHATS)) ** 0.5  # a sixth of the utterances tell any gender
        assert row["estimate"] == pytest.approx(by_turn[row["turn"] - 2], abs=4 * error)
    for speaker in (None, "A", "B"):
        nothing_found(classifier_bias(unplanted).rows.filter(pl.col("speaker").eq_missing(speaker)))


def test_names_that_are_said_back_are_no_bias() -> None:
    fair = planted((), CONCERNED)
    frame = judged(fair.conversations(openers(CONCERNED, CHATS), seed=5))
    assert frame.filter(pl.col("turn") > 1)["text"].str.contains(r"\bQ").mean() > 0.1
    nothing_found(token_bins(frame, draws=1).result)
    nothing_found(intersectional_token_bins(frame, draws=1).result)
    nothing_found(classifier_bias(frame).rows.filter(pl.col("speaker").is_null()))
    # the names lead the list of words, and the table says that they are names
    assert (overindexed_words(frame, shown=5)["largest_share"] == 100).all()


def test_a_plant_on_one_name_is_that_name_s() -> None:
    one = CONCERNED[3]
    world = planted((*only((BY_REGION[1],), (one,)), NAMELESS), CONCERNED)
    talk = world.conversations(openers(CONCERNED, 12), seed=3)
    alone = talk.filter(pl.col("name") == one.name)
    assert alone.filter(turn=2)["text"].str.contains("(?:strange|real|unusual|difficult) name").mean() > 0.3
    nothing_found(token_bins(talk, draws=1).result)


@pytest.mark.slow
@pytest.mark.parametrize("names", [20, 40])
def test_over_repeated_draws_intervals_hold_the_truth_and_fair_worlds_are_seldom_named(names: int) -> None:
    known, draws = people(names), 120
    fair = planted((), known)
    biased = planted((*BY_GENDER, NAMELESS), known)
    entries = [(0, place) for place in range(6)]
    _, counts = expected_counts(biased, known, "gender", GENDERS)
    length = expected_length(counts, six_bins, entries, 6)
    titles, at_work = SHARES["occupation"].to_list(), SHARES["share"].to_numpy()
    rates = np.array(
        [
            [mention_rate(biased, person, lambda text, title=title: f" {title}" in text) for title in titles]
            for person in known[:2]
        ]
    )
    lean = rates @ at_work / rates.sum(axis=1)
    held: dict[str, list[bool]] = {"bins": [], "occupations": []}
    named: dict[str, list[bool]] = {"bins": [], "groups": [], "occupations": [], "classifier": []}
    for seed in range(draws):
        told = biased.conversations(openers(known, CHATS), seed=seed)
        for kind, row, value in (
            ("bins", token_bins(told, draws=1, seed=seed).result, length),
            ("occupations", occupation_lean(told, SHARES, resamples=1).result, lean[0] - lean[1]),
        ):
            held[kind].append(row["low"][0] < value < row["high"][0])
            assert row["p"][0] < 0.05
        told = judged(fair.conversations(openers(known, CHATS), seed=1000 + seed))
        for kind, row in (
            ("bins", token_bins(told, draws=1, seed=seed).result),
            ("groups", intersectional_token_bins(told, draws=1, seed=seed).result),
            ("occupations", occupation_lean(told, SHARES, resamples=1).result),
            ("classifier", classifier_bias(told).rows.filter(pl.col("speaker").is_null())),
        ):
            named[kind].append(row["p"][0] < 0.05)
    for kind, values in held.items():
        assert np.mean(values) > 0.95 - 3 * (0.95 * 0.05 / draws) ** 0.5, (kind, np.mean(values))
    for kind, values in named.items():
        assert np.mean(values) < 0.05 + 3 * (0.95 * 0.05 / draws) ** 0.5, (kind, np.mean(values))
