"""The largest rate, rates by axis, and the comparison both rest on: against SciPy, planted harm, and nothing at all."""

import numpy as np
import polars as pl
import pytest

from evenhand.benchmarks.analysis.rate_rows import largest_rows
from evenhand.measures import axis_rates, max_subgroup_rate
from evenhand.measures.columns import cluster_codes, cluster_column, negative_outcomes, responses_once
from evenhand.measures.rates.group_comparison import compare_groups, spread_p
from evenhand.schema import DataError, UsageError, measurement_frame
from evenhand.stats import reach_verdicts


def _frame(negatives: list[int], totals: list[int], axes: list[str] | None = None) -> pl.DataFrame:
    parts = [
        pl.DataFrame({"group": [f"g{i:02}"] * n, "negative": [1] * k + [0] * (n - k)}).with_columns(
            axis=pl.lit(axes[i] if axes else "only")
        )
        for i, (k, n) in enumerate(zip(negatives, totals, strict=True))
    ]
    return pl.concat(parts)


def _sampled(rng: np.random.Generator, rates: np.ndarray, prompts: int, samples: int) -> pl.DataFrame:
    """Samples of one prompt share a rate that varies from prompt to prompt (correlation 0.3)."""
    strength = 0.7 / 0.3
    chance = rng.beta(rates[:, None] * strength, (1 - rates[:, None]) * strength, (len(rates), prompts))
    negative = rng.random((*chance.shape, samples)) < chance[:, :, None]
    return pl.DataFrame(
        {
            "axis": np.repeat([f"a{i % 3}" for i in range(len(rates))], prompts * samples),
            "group": np.repeat([f"g{i:02}" for i in range(len(rates))], prompts * samples),
            "prompt_id": np.repeat(np.arange(chance.size), samples),
            "negative": negative.ravel(),
        }
    )


def test_groups_are_compared_by_fisher_s_test_within_their_axis() -> None:
    from scipy.stats import fisher_exact
    from statsmodels.stats.multitest import multipletests

    negatives, totals, axes = [30, 12, 5, 9], [60, 60, 40, 50], ["x", "x", "x", "y"]
    outcomes = negative_outcomes(_frame(negatives, totals, axes), "m")
    table = compare_groups(outcomes, None, within_axis=True)
    p = []
    for place in range(3):
        k, n = negatives[place], totals[place]
        others, rest = 47 - k, 160 - n
        tails = [
            fisher_exact([[k, n - k], [others, rest - others]], side).pvalue for side in ("greater", "less")
        ]
        p.append(min(1.0, 2 * min(tails)))
        assert table["p"][place] == pytest.approx(p[-1], rel=1e-9)
        assert table["background"][place] == pytest.approx(100 * others / rest)
    np.testing.assert_allclose(table["q"][:3], multipletests(p, method="fdr_bh")[1])
    # a group that is alone on its axis has nobody to be compared with
    assert table.row(3, named=True)["p"] is None and table["estimate"][3] == 18.0
    everyone = compare_groups(outcomes, None, within_axis=False)
    assert everyone["p"].null_count() == 0 and everyone["background"][3] == pytest.approx(100 * 47 / 160)


def test_spread_p_is_the_chi_square_permutation() -> None:
    from scipy.stats import chi2_contingency

    hits, totals = np.array([12.0, 25.0, 20.0, 30.0]), np.array([80, 100, 90, 100])
    mine = spread_p(totals, hits, 4999, np.random.default_rng(0))
    theirs = chi2_contingency(np.stack([hits, totals - hits]), correction=False).pvalue
    assert mine == pytest.approx(theirs, abs=0.01)
    assert np.isnan(spread_p(totals[:1], hits[:1], 9, np.random.default_rng(0)))
    assert spread_p(totals, np.zeros(4), 9, np.random.default_rng(0)) == 1.0


def test_axis_rates_name_the_axis_the_group_and_the_spread() -> None:
    frame = _frame([60, 60, 20, 22, 45, 5], [200] * 6, ["age", "age", "race", "race", "sex", "sex"])
    result = axis_rates(frame)
    axes = result.axes
    assert axes["axis"].to_list() == [None, "age", "race", "sex"]
    assert axes["estimate"][0] == pytest.approx(100 * 212 / 1200) and axes["estimate"][1] == 30.0
    assert axes["background"][1:].to_list() == [axes["estimate"][0]] * 3
    assert axes["others"][1] == pytest.approx(100 * 92 / 800) and axes["q"][1] < 1e-6
    assert axes["spread_p"][1] > 0.05 and axes["spread_p"][3] == 0.001 and axes["spread"][3] > 5
    assert (axes["low"] < axes["estimate"]).all() and (axes["estimate"] < axes["high"]).all()
    groups = result.groups.filter(axis="sex")
    assert groups["background"].to_list() == [2.5, 22.5] and (groups["q"] < 1e-6).all()


def test_a_response_about_two_groups_counts_once_over_everything() -> None:
    frame = pl.DataFrame(
        {
            "axis": ["age", "race", "age", "race"],
            "group": ["old", "asian", "old", "asian"],
            "prompt_id": ["a", "a", "b", "b"],
            "sample": [0, 0, 0, 0],
            "negative": [1, 1, 0, 0],
        }
    )
    axes = axis_rates(frame, draws=9).axes
    assert axes["n"].to_list() == [2, 2, 2] and axes["estimate"].to_list() == [50.0] * 3
    assert responses_once(frame.drop("sample")).height == 4


def test_missing_judgements_are_counted_by_group_and_axis() -> None:
    frame = pl.concat(
        [
            _frame([6, 2], [20, 20], ["x", "y"]),
            pl.DataFrame({"group": ["g00", "g09"], "negative": [None, None], "axis": ["x", "z"]}),
        ],
        how="diagonal_relaxed",
    )
    result = axis_rates(frame, draws=9)
    assert result.axes.select("axis", "n", "n_missing").rows() == [
        (None, 40, 2),
        ("x", 20, 1),
        ("y", 20, 0),
        ("z", 0, 1),
    ]
    assert result.axes.row(3, named=True)["estimate"] is None
    maxima = max_subgroup_rate(frame, draws=9).maxima
    assert maxima["n_left_out"].to_list() == [1, 0, 0, 1] and maxima["n_missing"][0] == 1
    assert maxima.row(3, named=True)["estimate"] is None


def test_the_largest_of_equal_groups_is_what_a_simulation_says() -> None:
    rng = np.random.default_rng(1)
    totals = [40] * 20
    row = max_subgroup_rate(_frame([8] * 20, totals), draws=4999).maxima.row(0, named=True)
    labels = np.repeat(np.arange(20), 40)
    outcomes = np.repeat([1.0, 0.0], [160, 640])
    largest = [100 * (np.bincount(labels, weights=rng.permutation(outcomes)) / 40).max() for _ in range(2000)]
    assert row["null"] == pytest.approx(np.mean(largest), abs=0.3)
    assert row["null_high"] == pytest.approx(np.quantile(largest, 0.95), abs=1.3)
    # all exactly equal is even less than chance gives
    assert row["estimate"] == 20.0 and row["p"] == 1.0 and row["excess"] < -10


def test_planted_worst_group_is_named() -> None:
    frame = _frame([90, 22, 20, 19], [100, 100, 100, 100], ["age", "age", "race", "race"])
    result = max_subgroup_rate(frame)
    assert result.estimate == 90.0
    assert result.maxima["group"].to_list() == ["g00", "g00", "g02"]
    top = result.maxima.row(0, named=True)
    assert top["p"] == 0.001 and top["low"] > top["null_high"] and top["high"] < 96
    first = result.most_harmed.filter(pl.col("axis").is_null())
    assert first["group"].to_list()[0] == "g00" and first["rank"].to_list() == [1, 2, 3, 4]
    assert first["group_axis"][0] == "age"


def test_the_most_harmed_are_ranked_by_pooled_rates() -> None:
    frame = _frame([8, 520, 100, 110, 90], [10, 1000, 1000, 1000, 1000])
    result = max_subgroup_rate(frame, most=3)
    assert result.maxima["group"][0] == "g00" and result.maxima["estimate"][0] == 80.0
    listed = result.most_harmed.filter(pl.col("axis").is_null())
    assert listed.height == 3 and listed["pooled"].is_sorted(descending=True)
    small = listed.filter(group="g00")
    assert small["pooled"][0] < small["estimate"][0] - 5
    left = max_subgroup_rate(frame, minimum_n=11).maxima
    assert left["group"][0] == "g01" and left["n_left_out"][0] == 1


def test_minimum_detectable_is_found_four_times_in_five() -> None:
    rng = np.random.default_rng(2)
    row = max_subgroup_rate(_frame([15] * 10, [100] * 10), draws=1999).maxima.row(0, named=True)
    reach = (15 + row["minimum_detectable"]) / 100
    passed = np.mean(100 * rng.binomial(100, reach, 4000) / 100 > row["null_high"])
    assert 0.76 < passed < 0.85


def test_without_difference_nothing_is_found_and_limits_hold_the_largest() -> None:
    rng = np.random.default_rng(3)
    p, axis_p, held = [], [], 0
    for _ in range(14):
        frame = _sampled(rng, np.full(9, 0.15), prompts=25, samples=4)
        row = max_subgroup_rate(frame, draws=99).maxima.row(0, named=True)
        p.append(row["p"])
        held += row["low"] <= 15 <= row["high"]
        axis_p += axis_rates(frame, draws=9).axes["p"].drop_nulls().to_list()
    assert np.mean(np.array(p) <= 0.1) <= 0.3 and np.mean(np.array(axis_p) <= 0.1) <= 0.15
    assert held >= 12
    different = np.array([0.05, 0.1, 0.2, 0.3])
    held = sum(
        row["low"] <= 30 <= row["high"]
        for row in (
            max_subgroup_rate(_frame(rng.binomial(60, different).tolist(), [60] * 4), draws=1).maxima.row(
                0, named=True
            )
            for _ in range(100)
        )
    )
    assert held >= 94


def _largest(frame: pl.DataFrame) -> tuple[str, float | None]:
    """The verdict on the largest rate over all groups, and its p."""
    row = measurement_frame(largest_rows(max_subgroup_rate(frame, draws=199)))[:1]
    return reach_verdicts(row, harmful={"max_subgroup_rate": "above"})[1]["verdict"][0], row["p"][0]


@pytest.mark.parametrize(
    ("groups", "prompts", "samples", "rate"),
    [
        (8, 1, 25, 0.02),  # with a sum of negatives rounded to nothing: about half of the verdicts false
        (40, 1, 25, 0.005),
        (100, 1, 10, 0.002),
        (40, 2, 10, 0.01),
        (40, 3, 25, 0.005),
    ],
)
def test_chance_is_not_called_bias_where_groups_have_few_prompts(groups, prompts, samples, rate) -> None:
    rng = np.random.default_rng(groups + samples)
    rates = np.full(groups, rate)
    found = [_largest(_sampled(rng, rates, prompts, samples)) for _ in range(100)]
    assert sum(verdict == "biased" for verdict, _ in found) <= 6
    assert sum(p is not None and p <= 0.05 for _, p in found) <= 9  # 5 % or less: 10 of 100 in under 3 of 100
    if prompts == 1:
        assert {verdict for verdict, _ in found} == {"not measurable"}


def test_a_bias_is_still_found_where_groups_have_prompts_enough() -> None:
    rng = np.random.default_rng(3)
    rates = np.array([0.6] + [0.1] * 9)
    found = [_largest(_sampled(rng, rates, 20, 5))[0] for _ in range(40)]
    assert found.count("biased") >= 30


def _lonely(frame: pl.DataFrame, negative: int) -> pl.DataFrame:
    """Twenty-five samples of one prompt about a group that has no other, so many of them negative."""
    return frame[:25].with_columns(
        group=pl.lit("lonely"),
        prompt_id=pl.lit(-1, frame["prompt_id"].dtype),
        negative=pl.Series(np.arange(25) < negative),
    )


def test_the_largest_rate_is_shown_whoever_has_it_and_not_judged_on_one_prompt() -> None:
    several = _sampled(np.random.default_rng(5), np.full(6, 0.1), 30, 5)
    with_lonely = pl.concat([several, _lonely(several, 25)])
    result = max_subgroup_rate(with_lonely, draws=199)
    row = result.maxima.row(0, named=True)
    assert (row["group"], row["estimate"], row["n_groups"], row["n_left_out"]) == ("lonely", 100.0, 7, 1)
    assert "lonely" in result.most_harmed["group"].to_list()
    assert _largest(with_lonely) == ("not measurable", None)


def test_nobody_has_the_largest_rate_where_all_are_zero() -> None:
    row = max_subgroup_rate(_frame([0, 0, 0], [20, 20, 20])).maxima.row(0, named=True)
    assert (row["group"], row["estimate"]) == (None, 0.0)


def test_a_group_of_one_prompt_changes_no_test_of_the_others() -> None:
    rng = np.random.default_rng(3)
    several = _sampled(rng, np.array([0.6] + [0.1] * 5), 20, 5)
    alone = max_subgroup_rate(several, draws=199).maxima.row(0, named=True)
    beside = max_subgroup_rate(pl.concat([several, _lonely(several, 0)]), draws=199).maxima.row(0, named=True)
    assert alone["p"] <= 0.05 and beside["p"] == alone["p"] and beside["null"] == alone["null"]


def test_one_group_with_two_prompts_among_groups_of_one_judges_nobody() -> None:
    rng = np.random.default_rng(8)
    for _ in range(20):
        one_each = _sampled(rng, np.full(11, 0.2), 1, 25)
        pair = _sampled(rng, np.full(1, 0.2), 2, 25).with_columns(
            group=pl.lit("pair"), prompt_id=-2 - pl.col("prompt_id").cast(pl.Int64)
        )
        frame = pl.concat(
            [one_each, pair.cast({"prompt_id": one_each["prompt_id"].dtype})], how="vertical_relaxed"
        )
        assert _largest(frame) == ("not measurable", None)


def test_samples_of_one_prompt_widen_the_limits() -> None:
    frame = _sampled(np.random.default_rng(4), np.full(6, 0.2), prompts=30, samples=8)
    clustered, plain = axis_rates(frame, draws=9), axis_rates(frame.drop("prompt_id"), draws=9)
    width = [(result.axes["high"] - result.axes["low"])[0] for result in (clustered, plain)]
    # design effect 1 + 7 × 0.3 = 3.1
    assert 1.4 < width[0] / width[1] < 2.2
    assert (clustered.axes["estimate"] == plain.axes["estimate"]).all()


def test_clusters() -> None:
    frame = pl.DataFrame({"prompt_id": ["a", "b", "a"], "story": [1, 1, None]})
    assert cluster_column(frame, None, "m") == "prompt_id"
    assert cluster_column(frame.drop("prompt_id"), None, "m") is None
    assert cluster_codes(frame, None).tolist() == [0, 1, 2]
    with pytest.raises(DataError, match="rows without story"):
        cluster_column(frame, "story", "m")
    with pytest.raises(DataError, match="m needs the column book"):
        cluster_column(frame, "book", "m")


def test_bad_calls_are_refused() -> None:
    frame = _frame([3, 3], [10, 10])
    with pytest.raises(UsageError, match="minimum_n=0"):
        max_subgroup_rate(frame, minimum_n=0)
    with pytest.raises(UsageError, match="alpha=2"):
        axis_rates(frame, alpha=2)
    with pytest.raises(DataError, match="needs the column axis"):
        axis_rates(frame.drop("axis"))
    nobody = max_subgroup_rate(frame, minimum_n=50)
    assert nobody.estimate is None and nobody.most_harmed.is_empty()
