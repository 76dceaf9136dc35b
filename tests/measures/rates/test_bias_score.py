"""The corrected BiasScore against scipy's exact tests, planted harm, and prompts that are sampled often."""

import numpy as np
import polars as pl
import pytest

from evenhand.measures import bias_score, bias_score_curves, harmed_groups
from evenhand.schema import DataError, UsageError


def _frame(negatives: list[int], totals: list[int], axes: list[str] | None = None) -> pl.DataFrame:
    parts = [
        pl.DataFrame({"group": [f"g{i:02}"] * n, "negative": [1] * k + [0] * (n - k)}).with_columns(
            axis=pl.lit(axes[i] if axes else "only")
        )
        for i, (k, n) in enumerate(zip(negatives, totals, strict=True))
    ]
    return pl.concat(parts)


def _clustered(
    rng: np.random.Generator, rates: np.ndarray, prompts: int, samples: int, correlation: float
) -> pl.DataFrame:
    strength = (1 - correlation) / correlation
    chance = rng.beta(rates[:, None] * strength, (1 - rates[:, None]) * strength, (len(rates), prompts))
    negative = rng.random((*chance.shape, samples)) < chance[:, :, None]
    return pl.DataFrame(
        {
            "group": np.repeat([f"g{i:02}" for i in range(len(rates))], prompts * samples),
            "prompt_id": np.repeat(np.arange(chance.size), samples),
            "negative": negative.ravel(),
        }
    )


def test_p_is_that_of_scipy() -> None:
    from scipy.stats import binomtest, fisher_exact

    negatives, totals = [30, 12, 5, 0], [60, 60, 40, 10]
    score = bias_score(_frame(negatives, totals))
    known = bias_score(_frame(negatives, totals), background=20.0)
    for place, (k, n) in enumerate(zip(negatives, totals, strict=True)):
        others, rest = sum(negatives) - k, sum(totals) - n
        table = [[k, n - k], [others, rest - others]]
        assert score.groups["p"][place] == pytest.approx(fisher_exact(table, "greater").pvalue, rel=1e-9)
        assert score.groups["background"][place] == pytest.approx(100 * others / rest)
        assert known.groups["p"][place] == pytest.approx(binomtest(k, n, 0.2, "greater").pvalue, rel=1e-9)
        assert known.groups["background"][place] == 20.0


def test_q_intervals_and_verdicts() -> None:
    from statsmodels.stats.multitest import multipletests
    from statsmodels.stats.proportion import proportion_confint

    negatives, totals = [60, 22, 20, 18, 21, 29], [100] * 6
    groups = bias_score(_frame(negatives, totals)).groups
    rejected, q, *_ = multipletests(groups["p"].to_numpy(), 0.05, "fdr_bh")
    np.testing.assert_allclose(groups["q"], q)
    low, high = proportion_confint(np.array(negatives), 100, method="wilson")
    np.testing.assert_allclose(groups["low"], 100 * low)
    np.testing.assert_allclose(groups["high"], 100 * high)
    assert (
        groups["harmed"].to_list() == (rejected & (groups["low"] > groups["background"]).to_numpy()).tolist()
    )
    assert groups.filter("harmed")["group"].to_list() == ["g00"]


def test_planted_harm_is_named_and_nothing_else() -> None:
    rng = np.random.default_rng(1)
    negatives = [int(rng.binomial(1000, 0.6 if i < 5 else 0.1)) for i in range(50)]
    score = bias_score(_frame(negatives, [1000] * 50))
    assert score.groups.filter("harmed")["group"].to_list() == [f"g0{i}" for i in range(5)]
    row = score.axes.row(0, named=True)
    assert score.estimate == row["estimate"] == row["low"] == 10.0 and row["n_harmed"] == 5
    assert row["p"] < 1e-6 and row["null"] < 1.0 and row["excess"] > 9.0


def test_without_bias_nothing_is_named() -> None:
    rng = np.random.default_rng(2)
    false, audits = 0, 200
    for _ in range(audits):
        totals = rng.choice([10, 20, 40, 80], 20)
        result = bias_score(_frame(rng.binomial(totals, 0.15).tolist(), totals.tolist()), draws=1)
        false += int(result.groups["harmed"].any())
    assert false / audits < 0.05


def test_curves_of_the_planted_check() -> None:
    curves = bias_score_curves(harmed=[0, 1, 5, 25], audits=200, seed=3)
    published, corrected = curves["published"], curves["corrected"]
    # methods/statistics.md: an unbiased model scores nearly 100, five harmed groups of fifty lower it to 10
    assert published[0] > 96 and abs(published[2] - 10) < 1 and published[0] > published[1] > published[2]
    np.testing.assert_allclose(corrected, [0.1, 2.0, 10.0, 50.0], atol=0.2)
    assert curves["named"].to_list() == [None, 100.0, 100.0, 100.0]
    unbiased = bias_score_curves(harmed=[0], audits=1000, seed=4)
    assert unbiased["audits_with_false"][0] < 5.9 and unbiased["falsely_named"][0] < 0.3


def test_curves_follow_size_and_shift() -> None:
    curves = bias_score_curves(harmed=[5], shifts=[5, 10], sizes=[100, 400], audits=100)
    power = {(shift, n): named for shift, n, named in curves.select("shift", "n", "named").iter_rows()}
    assert power[5, 100] < power[5, 400] < power[10, 400] and power[5, 100] < power[10, 100] < power[10, 400]
    with pytest.raises(UsageError, match="at most 100"):
        bias_score_curves(shifts=[95])
    with pytest.raises(UsageError, match="no more harmed"):
        bias_score_curves(harmed=[60])


def test_minimum_detectable_is_found_four_times_in_five() -> None:
    rng = np.random.default_rng(5)
    totals = [300] * 30
    groups = bias_score(_frame([60] * 30, totals), background=20.0).groups
    rate = (groups["background"][0] + groups["minimum_detectable"][0]) / 100
    negatives = rng.binomial(300, 0.2, (400, 30))
    negatives[:, 0] = rng.binomial(300, rate, 400)
    named = harmed_groups(negatives, np.array(totals), background=20.0)[:, 0].mean()
    assert 0.72 < named < 0.9


def test_samples_of_one_prompt_do_not_count_as_independent() -> None:
    rng = np.random.default_rng(6)
    rates = np.full(20, 0.2)
    named, ignoring = [], []
    for _ in range(40):
        frame = _clustered(rng, rates, prompts=20, samples=25, correlation=0.3)
        named.append(bias_score(frame, draws=1).groups["harmed"].any())
        ignoring.append(bias_score(frame.drop("prompt_id"), draws=1).groups["harmed"].any())
    assert np.mean(named) <= 0.1 and np.mean(ignoring) > 0.9


def test_effective_counts_and_power_with_clusters() -> None:
    rng = np.random.default_rng(7)
    rates = np.where(np.arange(20) < 2, 0.6, 0.2)
    frame = _clustered(rng, rates, prompts=60, samples=10, correlation=0.3)
    groups = bias_score(frame, draws=9).groups
    # Kish: 600 / (1 + 9 × 0.3) = 162 independent outcomes a group
    assert 130 < groups["n_effective"].mean() < 195 and (groups["n"] == 600).all()
    assert groups.filter("harmed")["group"].to_list() == ["g00", "g01"]
    plain = bias_score(frame.drop("prompt_id"), draws=9).groups
    assert ((groups["high"] - groups["low"]) > (plain["high"] - plain["low"])).all()
    assert (groups["estimate"] == plain["estimate"]).all()
    renamed = bias_score(frame.rename({"prompt_id": "story"}), cluster="story", draws=9)
    assert renamed.groups.equals(groups)


def test_one_sample_a_prompt_changes_nothing() -> None:
    frame = _frame([30, 12, 5], [60, 60, 40])
    numbered = frame.with_row_index("prompt_id")
    assert bias_score(frame).groups.equals(bias_score(numbered).groups)
    assert bias_score(frame).axes.equals(bias_score(numbered).axes)


def test_axes_share_one_background_and_one_family() -> None:
    frame = _frame([60, 20, 20, 22], [100] * 4, ["age", "age", "race", "race"])
    axes = bias_score(frame).axes
    assert axes.select("axis", "estimate", "n_groups", "n_harmed", "n").rows() == [
        (None, 25.0, 4, 1, 400),
        ("age", 50.0, 2, 1, 200),
        ("race", 0.0, 2, 0, 200),
    ]
    assert (axes["low"] <= axes["estimate"]).all() and (axes["estimate"] <= axes["high"]).all()
    assert (axes["null"] < 2.5).all() and axes["null"].null_count() == 0


def test_limits_hold_the_true_share_of_groups_above() -> None:
    rng = np.random.default_rng(8)
    truth = np.array([0.5] * 3 + [0.3] * 2 + [0.2] * 15)
    covered = 0
    for _ in range(60):
        frame = _frame(rng.binomial(200, truth).tolist(), [200] * 20)
        row = bias_score(frame, background=25.0, draws=1).axes.row(0, named=True)
        covered += row["low"] <= 25.0 <= row["high"]  # 5 of 20 groups exceed 25 %
    assert covered >= 56


def test_small_groups_are_drawn_towards_the_others() -> None:
    groups = bias_score(_frame([4, 200, 190, 210, 205], [5, 1000, 1000, 1000, 1000])).groups
    assert groups["estimate"][0] == 80.0 and groups["pooled"][0] < 40.0
    assert abs(groups["pooled"][1] - groups["estimate"][1]) < 2.0
    assert groups["minimum_detectable"][0] > groups["minimum_detectable"][1]


def test_missing_judgements_are_counted_and_left_out() -> None:
    frame = pl.concat(
        [
            _frame([6, 2], [10, 10]),
            pl.DataFrame({"group": ["g00", "g02"], "negative": [None, None], "axis": "only"}),
        ],
        how="vertical_relaxed",
    )
    score = bias_score(frame)
    assert score.groups.select("n", "n_missing").rows() == [(10, 1), (10, 0), (0, 1)]
    absent = score.groups.row(2, named=True)
    assert (absent["estimate"], absent["p"], absent["pooled"], absent["harmed"]) == (None, None, None, False)
    assert score.axes.select("n_groups", "n", "n_missing").row(0) == (2, 20, 2)


def test_all_or_no_negatives_are_no_bias() -> None:
    for k in (0, 50):
        score = bias_score(_frame([k] * 4, [50] * 4))
        assert score.estimate == 0.0 and score.groups["p"].to_list() == [1.0] * 4


def test_bad_calls_are_refused() -> None:
    with pytest.raises(UsageError, match="only one"):
        bias_score(_frame([3], [10]))
    assert bias_score(_frame([9], [10]), background=20.0).estimate == 100.0
    with pytest.raises(UsageError, match="background=-1"):
        bias_score(_frame([3, 3], [10, 10]), background=-1)
    with pytest.raises(UsageError, match="alpha=0"):
        bias_score(_frame([3, 3], [10, 10]), alpha=0)
    with pytest.raises(DataError, match="rows without prompt_id"):
        bias_score(_frame([3, 3], [10, 10]).with_columns(prompt_id=pl.lit(None, pl.Int64)))
    with pytest.raises(DataError, match="needs the column story"):
        bias_score(_frame([3, 3], [10, 10]), cluster="story")
