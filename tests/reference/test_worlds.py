"""The shipped Worlds: they can say what the benchmark asks, fair where they say so, biased where planted."""

import numpy as np
import polars as pl
import pytest

from evenhand.prompts.language.composer import compose
from evenhand.prompts.lexicon import load_lexicon
from evenhand.reference.training.examine import axis_spreads, excess_loss, planted_shifts
from evenhand.reference.world import World
from evenhand.reference.worlds import NULL_AXES, PLANTS, default_plants, fair_world, planted_world


@pytest.fixture(scope="module")
def world() -> World:
    return planted_world()


@pytest.fixture(scope="module")
def prompts() -> pl.DataFrame:
    return compose(nouns=["woman", "colleague", "enby"], bare_adjectives=True)


def test_every_prompt_of_the_benchmark_can_be_said(world: World, prompts: pl.DataFrame) -> None:
    texts = prompts.gather_every(7)["text"].to_list()
    assert len(texts) > 10_000
    answers = world.log_likelihoods(texts)
    assert [text for text, error in zip(texts, answers.errors, strict=True) if error] == []


def test_everything_the_world_says_is_one_of_its_own_texts(world: World) -> None:
    answers = world.log_likelihoods(world.sample(500, seed=3))
    assert answers.errors == [None] * 500


def test_null_axes_are_exactly_exchangeable(world: World) -> None:
    frame = compose(load_lexicon().select(axes=list(NULL_AXES)), nouns=["woman", "uncle"], controls=False)
    answers = world.log_likelihoods(frame["text"].to_list())
    scored = frame.with_columns(total=pl.Series(answers.sums), words=pl.Series(answers.counts))
    alike = scored.group_by("template", "noun", pl.col("form") == "phrase").agg(
        pl.col("total").max() - pl.col("total").min(), pl.col("words").n_unique()
    )
    assert alike["total"].max() < 1e-5
    assert alike["words"].max() == 1


def test_the_truth_of_null_axes_is_zero_and_of_planted_ones_is_not(world: World) -> None:
    truth = world.truth()
    null = truth.filter(pl.col("axis").is_in(NULL_AXES))
    assert null.height > 1000
    assert null["planted"].abs().max() == 0
    assert null["log_ratio"].abs().max() < 1e-9
    for axis, _, target, odds in PLANTS:
        moved = truth.filter(pl.col("axis") == axis, pl.col("target") == target, pl.col("planted") == odds)
        assert moved.height >= 5, (axis, target)
        assert (moved["log_ratio"].sign() == np.sign(odds)).all()


def test_frequency_plants_are_exact_log_ratios(world: World) -> None:
    rare = world.truth().filter(axis="body_type", target="frequency", planted=-2.0)
    np.testing.assert_allclose(rare["log_ratio"].to_numpy(), -2.0, atol=1e-9)


def test_plants_never_touch_the_null_axes() -> None:
    assert {plant.axis for plant in default_plants()}.isdisjoint(NULL_AXES)
    assert all(plant.descriptors for plant in default_plants())


def test_planted_opinions_are_recovered_exactly_and_a_fair_world_has_none(world: World) -> None:
    for shift in planted_shifts(world, nouns=("woman",)):
        assert shift.found == pytest.approx(shift.planted, abs=1e-4)
        assert list(shift.pairs.values()) == pytest.approx([shift.planted] * 12, abs=1e-4)
    for shift in planted_shifts(fair_world(), nouns=("woman",)):
        assert shift.found == pytest.approx(0, abs=1e-4)


def test_examination_of_the_world_itself_finds_no_spread_and_no_excess(world: World) -> None:
    assert excess_loss(world, world, n=200)["excess"] == 0
    for spread in axis_spreads(world, nouns=("man",)):
        assert spread.largest < 1e-6
        assert spread.pairs_beyond_margin == 0


def test_examination_sees_a_spread_where_a_world_has_one() -> None:
    from evenhand.reference.story import Plant

    biased = planted_world((Plant("nonce", "frequency", -2.0, ("obbery", "klimpy")),))
    (spread,) = axis_spreads(biased, axes=("nonce",), nouns=("man",))
    assert spread.largest > 0.1
    # two of 18 differ from the 16 others: 32 of 153 pairs
    assert spread.pairs_beyond_margin == pytest.approx(32 / 153)


def test_the_next_word_distribution_sums_to_one(world: World) -> None:
    for prefix in ("", "I", "I despise", "My new neighbor is", "A blind woman", "We are Deaf men,"):
        assert sum(world.next_words(prefix).values()) == pytest.approx(1, abs=1e-9)


def test_balanced_samples_are_balanced_on_null_axes(world: World) -> None:
    phrase, frame = world.draw_balanced(60_000, seed=2)
    joint = world.joint
    counts = np.zeros_like(joint.frames)
    np.add.at(counts, (joint.of_phrase[phrase], frame), 1)
    adjectives = {d.descriptor for d in load_lexicon().descriptors if d.form == "adjective"}
    null = [d for d, (axis, name) in enumerate(joint.descriptors) if axis in NULL_AXES and name in adjectives]
    assert np.ptp(counts[null].sum(axis=1)) <= 1
    assert np.ptp(counts[null], axis=0).max() <= 1
