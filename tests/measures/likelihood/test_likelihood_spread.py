"""The corrected Likelihood Bias on worlds whose truth is known, and against slow computations."""

from itertools import combinations

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from scipy.stats import binomtest, wilcoxon
from statsmodels.stats.multitest import multipletests

from evenhand.measures import likelihood_bias, published_likelihood_bias
from evenhand.measures.likelihood.crossed import compare_pairs, descriptor_profiles, median_of_known
from evenhand.schema import DataError, UsageError
from evenhand.stats import simes


def world(
    *,
    descriptors: int = 16,
    templates: int = 6,
    nouns: int = 32,
    template_sd: float = 1.0,
    noun_sd: float = 1.0,
    residual: float = 0.3,
    shift: NDArray[np.float64] | float = 0.0,
    seed: int = 0,
    axis: str = "age",
) -> pl.DataFrame:
    """Log-perplexities with template, noun and residual variation, and a shift per descriptor."""
    rng = np.random.default_rng(seed)
    shape = (templates, nouns, descriptors)
    values = (
        4
        + rng.normal(0, template_sd, (templates, 1, 1))
        + rng.normal(0, noun_sd, (templates, nouns, 1))
        + rng.normal(0, residual, shape)
        + shift
    )
    t, n, d = (index.ravel() for index in np.indices(shape))
    return pl.DataFrame(
        {
            "axis": [axis] * values.size,
            "template": [f"t{i:02}" for i in t],
            "noun": [f"n{i:02}" for i in n],
            "descriptor": [f"d{i:03}" for i in d],
            "log_perplexity": values.ravel(),
        }
    )


def one_shifted(descriptors: int, by: float) -> NDArray[np.float64]:
    shift = np.zeros(descriptors)
    shift[0] = by
    return shift


def test_exchangeable_descriptors_are_not_flagged() -> None:
    for margin in (0.0, 0.05):
        axes = likelihood_bias(world(), margin=margin).axes.row(0, named=True)
        assert axes["estimate"] < 0.01 and axes["null"] < 0.01 and axes["p"] > 0.05
        assert axes["low"] <= axes["null"] <= axes["high"]


def test_axis_p_holds_its_level_on_exchangeable_descriptors() -> None:
    rng = np.random.default_rng(0)
    p = [simes(compare_pairs(rng.normal(0, 1, (3, 14, 5)), alpha=0.05, margin=0.0).p) for _ in range(600)]
    hits = sum(value <= 0.1 for value in p)
    assert binomtest(hits, len(p), 0.1, alternative="greater").pvalue > 0.001
    assert hits > 12  # a test that hardly ever rejects has no power either


def test_null_share_agrees_with_fresh_exchangeable_worlds() -> None:
    worlds = [likelihood_bias(world(descriptors=6, templates=8, seed=s), margin=0.0).axes for s in range(12)]
    estimates = np.array([axes["estimate"][0] for axes in worlds])
    nulls = np.array([axes["null"][0] for axes in worlds])
    assert abs(estimates.mean() - nulls.mean()) < 0.006
    assert np.mean([axes["estimate"][0] <= axes["null_high"][0] for axes in worlds]) > 0.7


def test_pairing_finds_what_the_published_test_cannot() -> None:
    # methods/statistics.md: template (here noun) variation of twice the residual hides every true difference
    shift = np.where(np.arange(16) < 8, 0.0, 0.45)
    frame = world(noun_sd=1.2, residual=0.3, shift=shift).with_columns(
        perplexity=pl.col("log_perplexity").exp()
    )
    corrected = likelihood_bias(frame).axes["estimate"][0]
    published = published_likelihood_bias(frame).by_axis["significant_difference"][0]
    true = 64 / 120
    assert 0.8 * true < corrected <= 1.05 * true
    assert published < 0.15 * true


def test_differences_below_the_margin_do_not_count() -> None:
    frame = world(residual=0.01, shift=one_shifted(16, 0.03))
    assert likelihood_bias(frame, margin=0.05).axes["estimate"][0] == 0.0
    assert likelihood_bias(frame, margin=0.0).axes["estimate"][0] == pytest.approx(15 / 120, abs=0.025)


@pytest.mark.parametrize(("descriptors", "nouns"), [(12, 32), (8, 16), (30, 20)])
def test_smallest_detectable_effect_has_the_power_it_claims(descriptors: int, nouns: int) -> None:
    quiet = world(descriptors=descriptors, nouns=nouns, templates=4, seed=99)
    smallest = likelihood_bias(quiet).axes["minimum_detectable"][0]
    power = []
    for seed in range(8):
        shifted = world(
            descriptors=descriptors,
            nouns=nouns,
            templates=8,
            shift=one_shifted(descriptors, smallest),
            seed=seed,
        )
        pairs = likelihood_bias(shifted).pairs.filter(pl.col("descriptor_0") == "d000")
        power.append(pairs["share_templates"].mean())
    assert 0.68 < np.mean(power) < 0.9


def test_too_few_nouns_detect_nothing_and_say_so() -> None:
    axes = likelihood_bias(world(nouns=4, shift=one_shifted(16, 5.0))).axes.row(0, named=True)
    assert axes["estimate"] == 0.0 and axes["minimum_detectable"] is None


def test_against_a_loop_over_pairs_with_scipy_and_statsmodels() -> None:
    frame = world(descriptors=6, templates=2, nouns=20, shift=np.arange(6) * 0.15)
    result = likelihood_bias(frame, margin=0.0)
    shares, every_p = [], []
    for (_template,), cell in frame.group_by("template", maintain_order=True):
        wide = cell.pivot("descriptor", index="noun", values="log_perplexity").drop("noun")
        p = [wilcoxon(wide[a] - wide[b]).pvalue for a, b in combinations(sorted(wide.columns), 2)]
        shares.append(multipletests(p, 0.05, method="fdr_bh")[0].mean())
        every_p += p
    assert result.templates["share_different"].to_list() == pytest.approx(shares)
    assert result.axes["estimate"][0] == pytest.approx(np.mean(shares))
    assert result.axes["p"][0] == pytest.approx(multipletests(every_p, method="fdr_bh")[1].min())
    assert result.axes["n_tests"][0] == len(every_p)


def test_effect_sizes_against_their_definitions() -> None:
    frame = world(descriptors=4, templates=3, nouns=7, shift=np.arange(4) * 0.2)
    result = likelihood_bias(frame)
    wide = frame.pivot("descriptor", index=["template", "noun"], values="log_perplexity")
    for row in result.pairs.iter_rows(named=True):
        difference = (wide[row["descriptor_0"]] - wide[row["descriptor_1"]]).to_numpy()
        assert row["superiority"] == pytest.approx((difference < 0).mean())
        assert row["log_ratio"] == pytest.approx(np.median(difference))
        assert row["n"] == 21


def test_missing_cells_are_counted_and_left_out() -> None:
    frame = world(shift=np.where(np.arange(16) < 8, 0.0, 1.0))
    rng = np.random.default_rng(0)
    holes = pl.Series(rng.random(len(frame)) < 0.2)
    holed = frame.with_columns(
        log_perplexity=pl.when(holes).then(float("nan")).otherwise(pl.col("log_perplexity"))
    )
    axes = likelihood_bias(holed).axes.row(0, named=True)
    assert axes["n_missing"] == holes.sum() and axes["n"] == len(frame) - holes.sum()
    assert 0.5 < axes["estimate"] < 0.56  # 64 of 120 pairs differ
    dropped = likelihood_bias(frame.filter(~holes)).axes.row(0, named=True)
    assert dropped["estimate"] == axes["estimate"] and dropped["n_missing"] == 0


def test_all_missing_and_single_descriptors_give_nulls_not_zeros() -> None:
    nothing = world(descriptors=3).with_columns(log_perplexity=pl.lit(None, pl.Float64))
    alone = world(descriptors=1, axis="body")
    axes = likelihood_bias(pl.concat([nothing, alone])).axes
    assert axes["estimate"].to_list() == [None, None] and axes["p"].to_list() == [None, None]
    assert axes["n_missing"].to_list() == [3 * 6 * 32, 0]


def test_one_template_has_no_interval() -> None:
    axes = likelihood_bias(world(templates=1, shift=np.arange(16) * 0.2)).axes.row(0, named=True)
    assert axes["estimate"] > 0.3 and axes["low"] is None


def test_descriptor_log_ratios_recover_the_planted_shift() -> None:
    shift = np.zeros(16)
    shift[3] = 0.6
    rows = likelihood_bias(world(shift=shift)).descriptors
    planted = rows.row(3, named=True)
    assert planted["low"] < 0.6 < planted["high"] and planted["q"] < 0.001
    others = rows.filter(pl.col("descriptor") != "d003")
    assert (others["q"] > 0.05).all()
    assert rows["median_perplexity"][3] > others["median_perplexity"].max()


def test_descriptor_intervals_cover() -> None:
    rng = np.random.default_rng(1)
    covered, rejected = [], []
    for _ in range(60):
        noise = (
            rng.normal(0, 0.3, (12, 1, 21))
            + rng.normal(0, 0.3, (1, 24, 21))
            + rng.normal(0, 0.3, (12, 24, 21))
        )
        profile = descriptor_profiles(noise, margin=0.0)
        covered.append(np.mean((profile.low <= 0) & (profile.high >= 0)))
        rejected.append(np.mean(profile.p < 0.05))
    assert 0.92 < np.mean(covered) < 0.98
    assert np.mean(rejected) == pytest.approx(1 - np.mean(covered), abs=1e-9)


@pytest.mark.parametrize("source", ["templates", "nouns", "cells"])
def test_descriptor_intervals_cover_with_one_source_of_variation(source: str) -> None:
    rng = np.random.default_rng(2)
    shape = {"templates": (12, 1, 21), "nouns": (1, 24, 21), "cells": (12, 24, 21)}[source]
    covered = []
    for _ in range(60):
        values = rng.normal(0, 0.3, shape) + rng.normal(0, 0.02, (12, 24, 21))
        profile = descriptor_profiles(values, margin=0.0)
        covered.append(np.mean((profile.low <= 0) & (profile.high >= 0)))
    assert 0.93 < np.mean(covered) <= 0.996


def test_same_seed_same_numbers_whatever_the_row_order() -> None:
    frame = world(shift=one_shifted(16, 0.3))
    again = frame.sample(fraction=1.0, shuffle=True, seed=5)
    one, two = likelihood_bias(frame, seed=3), likelihood_bias(again, seed=3)
    for table in ("axes", "templates", "pairs", "descriptors", "descriptor_templates"):
        assert getattr(one, table).equals(getattr(two, table)), table


def test_perplexity_and_log_likelihood_columns_say_the_same() -> None:
    frame = world(descriptors=5, shift=one_shifted(5, 0.4))
    as_perplexity = frame.select(pl.exclude("log_perplexity"), perplexity=pl.col("log_perplexity").exp())
    as_likelihood = frame.select(
        pl.exclude("log_perplexity"),
        log_likelihood=-7 * pl.col("log_perplexity"),
        token_count=pl.lit(7, pl.UInt32),
    )
    expected = likelihood_bias(frame).axes
    assert likelihood_bias(as_perplexity).axes["estimate"][0] == expected["estimate"][0]
    result = likelihood_bias(as_likelihood)
    assert result.axes["estimate"][0] == expected["estimate"][0]
    assert result.descriptors["token_count"].unique().to_list() == [7.0]


def test_columns_are_those_the_report_reads() -> None:
    result = likelihood_bias(world(descriptors=3), pair_details=False)
    assert result.templates.columns == ["axis", "template", "share_different", "n_pairs"]
    assert result.pairs.is_empty() and result.pairs.columns[:3] == ["axis", "descriptor_0", "descriptor_1"]
    assert result.descriptor_templates.columns == [
        "axis",
        "descriptor",
        "template",
        "median_perplexity",
        "log_ratio",
        "n",
    ]
    assert result.descriptors.columns[-2:] == ["q", "token_count"]


def test_bad_input_is_explained() -> None:
    with pytest.raises(DataError, match="noun"):
        likelihood_bias(world().drop("noun"))
    with pytest.raises(DataError, match="perplexity, or log_perplexity"):
        likelihood_bias(world().drop("log_perplexity"))
    with pytest.raises(DataError, match="perplexity of -1"):
        likelihood_bias(
            world().rename({"log_perplexity": "perplexity"}).with_columns(perplexity=pl.lit(-1.0))
        )
    with pytest.raises(DataError, match="no descriptor"):
        likelihood_bias(world().with_columns(descriptor=pl.lit(None, pl.String)))
    with pytest.raises(DataError, match="without rows"):
        likelihood_bias(world().clear())
    with pytest.raises(UsageError, match="margin"):
        likelihood_bias(world(), margin=-1)


def test_median_of_known_ignores_missing() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(40, 9, 5))
    values[rng.random(values.shape) < 0.3] = np.nan
    values[:, 0, 0] = 1.0
    assert np.array_equal(median_of_known(values, 1), np.nanmedian(values, axis=1), equal_nan=True)


def test_equally_likely_sentences_are_equal_however_the_tokenizer_cuts_them() -> None:
    frame = world(descriptors=8, nouns=16, residual=0.02)
    pieces = pl.col("descriptor").str.slice(1).cast(pl.Int64) % 4  # some descriptors take more tokens
    frame = frame.with_columns(token_count=8 + pieces, log_likelihood=-8 * pl.col("log_perplexity")).drop(
        "log_perplexity"
    )
    shared, own = likelihood_bias(frame), likelihood_bias(frame, length="own")
    assert (shared.length, own.length) == ("shared", "own")
    assert shared.axes["estimate"][0] == 0.0
    assert shared.descriptor_templates["log_ratio"].abs().max() < 0.05  # what the heat map colours by
    assert own.axes["estimate"][0] > 0.5
    # and a real difference is found whichever way words are cut
    rarer = pl.when(pl.col("descriptor") == "d001").then(3.0).otherwise(0.0)
    planted = frame.with_columns(pl.col("log_likelihood") - rarer)
    found = likelihood_bias(planted).pairs.filter(pl.col("share_templates") > 0.5)
    assert found.height == 7
    assert set(found["descriptor_0"]) | set(found["descriptor_1"]) == {f"d{i:03}" for i in range(8)}
    assert all("d001" in pair for pair in found.select("descriptor_0", "descriptor_1").rows())


def test_shared_length_needs_its_columns() -> None:
    with pytest.raises(DataError, match="log_likelihood"):
        likelihood_bias(world(), length="shared")
    with pytest.raises(UsageError, match="length"):
        likelihood_bias(world(), length="words")  # type: ignore[arg-type]
