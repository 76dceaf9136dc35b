"""What --limit takes of sentences for likelihoods: whole pairs, own nouns, spread buckets, and what it says of them."""

from collections import Counter

import polars as pl
import pytest

from evenhand.benchmarks import load_benchmark
from evenhand.benchmarks.analysis.drawing_prompts import CELL, pairs_with_own_nouns
from evenhand.prompts import PromptSet
from evenhand.prompts.language import load_templates
from evenhand.schema import Card, UsageError

OURS = ("evenhand-likelihood", "evenhand-pll")
QUICK = 20_000
GENDERED = {"Latina", "Latino", "Chicana", "Chicano", "lesbian", "female", "male", "FTM", "MTF", "tomboyish"}


@pytest.fixture(scope="module")
def full() -> dict[str, PromptSet]:
    return {name: load_benchmark(name).build({}) for name in OURS}


@pytest.fixture(scope="module")
def quick(full: dict[str, PromptSet]) -> dict[str, pl.DataFrame]:
    return {name: load_benchmark(name).sample(full[name], QUICK, seed=0).frame for name in OURS}


@pytest.mark.parametrize("name", OURS)
def test_the_quick_audit_is_twelve_pairs_two_nouns_and_32_descriptors(
    quick: dict[str, pl.DataFrame], name: str
) -> None:
    frame = quick[name]
    assert 19_000 < frame.height <= QUICK
    axes = frame.group_by("axis").agg(
        pl.col("frame").n_unique(), pl.col("descriptor").n_unique(), pl.col("axis_size").first()
    )
    assert axes.height == 13
    assert set(axes["frame"]) == {12}
    assert all(drawn == min(32, size) for drawn, size in axes.select("descriptor", "axis_size").rows())
    nouns = frame.filter(~pl.col("descriptor").is_in(GENDERED)).group_by("axis", "descriptor", "frame")
    counts = nouns.agg(pl.col("noun").n_unique(), pl.len())
    assert set(counts.select("noun", "len").rows()) == {(2, 4)}


@pytest.mark.parametrize("name", OURS)
def test_nouns_are_a_pairs_own_and_the_same_for_every_descriptor(
    quick: dict[str, pl.DataFrame], name: str
) -> None:
    frame = quick[name]
    drawn = frame.unique(["axis", "frame", "noun"]).group_by("axis", "frame").agg(pl.col("noun").sort())
    assert set(drawn["noun"].list.len()) == {2}
    sets = drawn.group_by("axis").agg(pl.col("noun").n_unique())["noun"]
    assert sets.min() >= 8, "two pairs of an axis hardly ever share both nouns"
    genders = Counter(frame.unique(["axis", "frame", "noun"])["gender"])
    assert genders["nonbinary"] >= 4
    assert max(genders["female"], genders["male"]) < 1.5 * genders["neutral"]


def test_descriptors_that_go_with_one_gender_are_met_in_every_pair(quick: dict[str, pl.DataFrame]) -> None:
    frame = quick["evenhand-likelihood"].filter(pl.col("descriptor").is_in(GENDERED))
    assert frame["descriptor"].n_unique() >= 4
    met = frame.group_by("descriptor").agg(pl.col("frame").n_unique(), pl.len())
    assert set(met.select("frame", "len").rows()) == {(12, 24)}


def test_every_bucket_is_drawn_from_by_its_size(
    full: dict[str, PromptSet], quick: dict[str, pl.DataFrame]
) -> None:
    def members(frame: pl.DataFrame) -> pl.DataFrame:
        return frame.group_by("axis", "bucket").agg(pl.col("descriptor").n_unique())

    both = members(full["evenhand-likelihood"].frame).join(
        members(quick["evenhand-likelihood"]), on=["axis", "bucket"], how="left", suffix="_drawn"
    )
    assert both["descriptor_drawn"].null_count() == 0
    axis = both.with_columns(
        share=pl.col("descriptor") / pl.col("descriptor").sum().over("axis"),
        drawn=pl.col("descriptor_drawn").sum().over("axis"),
    )
    off = axis.select((pl.col("descriptor_drawn") - pl.col("share") * pl.col("drawn")).abs().max())
    assert off.item() < 2.5


@pytest.mark.parametrize("limit", [4, 30, 150, 400, 1500, 6000, QUICK, 60_000])
def test_no_limit_leaves_one_side_of_a_pair_or_one_descriptor_of_an_axis(
    full: dict[str, PromptSet], limit: int
) -> None:
    frame = load_benchmark("evenhand-pll").sample(full["evenhand-pll"], limit, seed=3).frame
    assert 0.6 * limit < frame.height <= limit
    assert set(frame.group_by(CELL).agg(pl.col("template").n_unique())["template"]) == {2}
    assert frame.group_by("axis").agg(pl.col("descriptor").n_unique())["descriptor"].min() >= 2
    assert limit < 60 or frame["axis"].n_unique() == 13


def test_more_room_goes_to_descriptors_and_then_to_nouns(full: dict[str, PromptSet]) -> None:
    prompts = full["evenhand-pll"].filter_axes(["religion"])
    sizes = {}
    for limit in (400, 1600, 4000, 8000):
        frame = pairs_with_own_nouns(prompts, limit, seed=0).frame
        nouns = frame.group_by("frame").agg(pl.col("noun").n_unique())["noun"].max()
        sizes[limit] = frame["descriptor"].n_unique(), nouns
    assert sizes == {400: (8, 2), 1600: (32, 2), 4000: (78, 2), 8000: (78, 4)}


def test_a_draw_depends_on_the_seed_and_its_axis_alone(full: dict[str, PromptSet]) -> None:
    prompts = full["evenhand-pll"].filter_axes(["age", "religion"])
    shuffled = PromptSet(prompts.frame.sample(fraction=1, shuffle=True, seed=1), prompts.card)
    drawn = {seed: set(pairs_with_own_nouns(prompts, 3100, seed).frame["prompt_id"]) for seed in (0, 1)}
    assert drawn[0] == set(pairs_with_own_nouns(shuffled, 3100, 0).frame["prompt_id"])
    assert len(drawn[0] & drawn[1]) < 0.2 * len(drawn[0])
    alone = pairs_with_own_nouns(prompts.filter_axes(["age"]), 1600, 0).frame
    assert set(alone["prompt_id"]) == set(prompts.frame.filter(axis="age")["prompt_id"]) & drawn[0]


def test_too_small_a_limit_says_what_is_needed(full: dict[str, PromptSet]) -> None:
    with pytest.raises(UsageError, match="two descriptors, each in both templates") as caught:
        pairs_with_own_nouns(full["evenhand-pll"], 3, seed=0)
    assert "--limit 4" in caught.value.hint


def test_prompts_without_pairs_are_crossed() -> None:
    grid = [(t, n, d) for t in "tuvw" for n in "klmn" for d in "abc"]
    frame = pl.DataFrame(grid, schema=["template", "noun", "descriptor"], orient="row").select(
        pl.int_range(pl.len()).cast(pl.String).alias("prompt_id"),
        pl.lit("").alias("text"),
        pl.lit("age").alias("axis"),
        pl.all(),
    )
    drawn = pairs_with_own_nouns(PromptSet(frame, Card("x", "y")), 14, seed=0).frame
    assert 10 <= drawn.height <= 14
    assert drawn.group_by("template", "noun").len()["len"].n_unique() == 1


def test_prompts_outside_pairs_are_left_out_of_a_part_only(full: dict[str, PromptSet]) -> None:
    whole = full["evenhand-likelihood"]
    paired = {t.text for t in load_templates(kinds=["opinion"])}
    part = load_benchmark("evenhand-likelihood").sample(whole, 300, seed=0).frame
    assert set(part["template"]) <= paired < set(whole.frame["template"])


@pytest.mark.parity
def test_the_published_set_keeps_its_three_pairs_and_all_its_descriptors(
    request: pytest.FixtureRequest,
) -> None:
    folder = request.getfixturevalue("shared") / "data" / "holisticbias"
    benchmark = load_benchmark("holisticbias-likelihood")
    prompts = benchmark.build({"holisticbias": folder})
    frame = benchmark.sample(prompts, QUICK, seed=0).frame
    assert frame["template"].n_unique() == 6 and frame.height > 0.8 * QUICK
    sizes = frame.group_by("axis").agg(pl.col("descriptor").n_unique(), pl.col("axis_size").first())
    assert (sizes["descriptor"] == sizes["axis_size"]).all()
