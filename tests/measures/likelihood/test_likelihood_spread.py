"""The spread of likelihoods on worlds whose truth is known, and against slow computations."""

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from evenhand.measures import likelihood_spread
from evenhand.measures.likelihood.likelihood_spread import _share_beyond
from evenhand.schema import DataError, UsageError


def world(
    *,
    descriptors: int = 16,
    templates: int = 6,
    nouns: int = 12,
    residual: float = 0.3,
    shift: NDArray[np.float64] | float = 0.0,
    seed: int = 0,
    axis: str = "age",
) -> pl.DataFrame:
    """Log-likelihoods with template, noun and residual variation, descriptors going oddly with templates and nouns."""
    rng = np.random.default_rng(seed)
    shape = (templates, nouns, descriptors)
    values = (
        30
        + rng.normal(0, 1, (templates, 1, 1))
        + rng.normal(0, 1, (templates, nouns, 1))
        + rng.normal(0, residual, (templates, 1, descriptors))
        + rng.normal(0, residual / 3, (1, nouns, descriptors))
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
            "log_likelihood": -values.ravel(),
            "token_count": 5 + d.ravel() % 3,
        }
    )


def one_shifted(descriptors: int, by: float) -> NDArray[np.float64]:
    shift = np.zeros(descriptors)
    shift[0] = by
    return shift


def test_point_4_the_headline_does_not_grow_with_the_nouns() -> None:
    truth = np.random.default_rng(0).normal(0, 0.5, 16)
    spread = float(np.std(truth, ddof=1))
    for nouns in (6, 11, 36):
        rows = [
            likelihood_spread(world(shift=truth, templates=9, nouns=nouns, seed=s)).axes.row(0, named=True)
            for s in range(8)
        ]
        assert np.mean([row["estimate"] for row in rows]) == pytest.approx(spread, abs=0.05)
        assert np.mean([row["low"] <= spread <= row["high"] for row in rows]) >= 0.75
        row = rows[0]
        assert row["factor"] == pytest.approx(np.exp(row["estimate"]))
        assert row["factor_low"] == pytest.approx(np.exp(row["low"]))


def test_nothing_planted_reads_near_nothing() -> None:
    rows = [likelihood_spread(world(seed=s)).axes.row(0, named=True) for s in range(20)]
    assert np.mean([row["low"] == 0 for row in rows]) >= 0.9
    assert np.mean([row["estimate"] for row in rows]) < 0.1, "plain SDs of means would read .17"


def test_share_of_pairs_beyond_the_margin_is_near_the_truth() -> None:
    truth = np.random.default_rng(1).normal(0, 0.3, 30)
    i, j = np.triu_indices(30, 1)
    true_share = np.mean(np.abs(truth[i] - truth[j]) > 0.5)
    shares = [
        likelihood_spread(world(descriptors=30, shift=truth, templates=9, seed=s), margin=0.5).axes[
            "share_beyond"
        ][0]
        for s in range(10)
    ]
    assert np.mean(shares) == pytest.approx(true_share, abs=0.05)
    assert _share_beyond(np.array([1.0, 0.0, -1.0]) * 1.5, 1.0, 0.5) == 1.0
    assert _share_beyond(np.zeros(3), 0.0, 0.5) == 0.0


def test_the_largest_factor_names_its_pair_and_covers() -> None:
    shift = one_shifted(8, 2.0)
    shift[1] = -1.0
    result = likelihood_spread(world(descriptors=8, shift=shift, templates=9))
    row = result.axes.row(0, named=True)
    assert (row["descriptor_0"], row["descriptor_1"]) == ("d000", "d001"), "the less likely one first"
    assert row["largest_low"] < 3.0 < row["largest_high"]
    assert result.pairs.height == 10 and result.pairs["log_ratio"].is_sorted(descending=True)
    means = (
        world(descriptors=8, shift=shift, templates=9)
        .group_by("descriptor")
        .agg(-pl.col("log_likelihood").mean())
    )
    by_name = dict(means.iter_rows())
    ordered = sorted(by_name.values())
    farthest = sorted((b - a for i, a in enumerate(ordered) for b in ordered[i:] if b > a), reverse=True)[:10]
    assert result.pairs["log_ratio"].to_list() == pytest.approx(farthest)


def test_descriptors_stand_beside_the_others_with_covering_intervals() -> None:
    shift = one_shifted(16, 1.0)
    inside = []
    for seed in range(20):
        rows = likelihood_spread(world(shift=shift, templates=9, seed=seed)).descriptors
        inside.append((rows["low"][0] <= 1.0) and (rows["high"][0] >= 1.0))
    assert np.mean(inside) >= 0.85
    assert rows["log_ratio"][0] == pytest.approx(1.0, abs=0.5)
    assert rows["median_perplexity"].null_count() == 0 and rows["token_count"][1] == 6


def test_missing_cells_are_counted_and_left_out() -> None:
    frame = world(shift=one_shifted(16, 5.0))
    gone = (pl.col("descriptor") == "d000") & (pl.col("noun") == "n03")
    holed = frame.with_columns(log_likelihood=pl.when(~gone).then("log_likelihood"))
    result = likelihood_spread(holed)
    assert result.axes["n_missing"][0] == 6 and result.axes["n"][0] == frame.height - 6
    assert result.descriptors["n_missing"][0] == 6
    whole = likelihood_spread(frame)
    ours, theirs = (r.descriptors["log_ratio"].to_list() for r in (result, whole))
    assert ours[1:] == pytest.approx(theirs[1:], abs=0.02), "a far descriptor's absence moves nobody else"


def test_all_missing_and_single_descriptors_give_nulls_not_zeros() -> None:
    blank = likelihood_spread(world().with_columns(log_likelihood=pl.lit(None, pl.Float64)))
    assert blank.axes["estimate"][0] is None and blank.descriptors["log_ratio"].null_count() == 16
    single = likelihood_spread(world(descriptors=1))
    assert single.axes["estimate"][0] is None and single.pairs.is_empty()


@pytest.mark.parametrize("one", ["templates", "nouns"])
def test_one_template_or_noun_has_no_spread(one: str) -> None:
    result = likelihood_spread(world(shift=one_shifted(16, 9.0), **{one: 1}))
    row = result.axes.row(0, named=True)
    assert row["estimate"] is None and row["largest"] > 5
    assert (row["largest_low"] is None) == (one == "templates")


def test_perplexities_alone_are_compared_per_token() -> None:
    frame = world(shift=one_shifted(16, 2.0))
    bare = frame.select(
        "axis", "template", "noun", "descriptor",
        perplexity=(-pl.col("log_likelihood") / pl.col("token_count")).exp(),
    )  # fmt: skip
    result = likelihood_spread(bare)
    assert result.per == "token"
    own = likelihood_spread(frame, per="token")
    assert result.axes["estimate"][0] == pytest.approx(own.axes["estimate"][0])
    assert likelihood_spread(frame).per == "sentence"


def test_equally_likely_sentences_are_equal_however_the_tokenizer_cuts_them() -> None:
    frame = world(residual=0.0)
    assert likelihood_spread(frame).axes["estimate"][0] == pytest.approx(0.0, abs=1e-6)
    assert likelihood_spread(frame, per="token").axes["estimate"][0] > 0.5


def test_row_order_does_not_matter() -> None:
    frame = pl.concat([world(shift=one_shifted(16, 1.0)), world(axis="religion", seed=1)])
    one, other = likelihood_spread(frame), likelihood_spread(frame.sample(fraction=1, shuffle=True, seed=1))
    assert one.axes["estimate"].to_list() == pytest.approx(other.axes["estimate"].to_list())
    assert one.axes["axis"].to_list() == other.axes["axis"].to_list() == ["age", "religion"]


def test_bad_input_is_explained() -> None:
    with pytest.raises(DataError, match="noun"):
        likelihood_spread(world().drop("noun"))
    with pytest.raises(UsageError, match=r"margin must be .* got -1"):
        likelihood_spread(world(), margin=-1)
    with pytest.raises(UsageError, match="'words'"):
        likelihood_spread(world(), per="words")  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"1e\+99 in row 0 of the column log_likelihood"):
        likelihood_spread(world().with_columns(log_likelihood=pl.lit(1e99)))
    with pytest.raises(DataError, match="axis is empty in"):
        likelihood_spread(world().with_columns(axis=pl.lit(None, pl.String)))
    with pytest.raises(DataError, match="perplexity"):
        likelihood_spread(world().drop("log_likelihood"))
