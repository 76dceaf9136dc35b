"""Changes between groups: none is invented in the designs that break plain deals, planted ones are found and sized."""

import numpy as np
import pytest
from scipy import stats

from evenhand.schema import UsageError
from evenhand.stats import benjamini_hochberg
from evenhand.stats.disparity.changes.change import group_changes


def answers(draws, sizes, samples, before, after, icc=0.3):
    """Prompts that are as harmful to both models: (before, after, group) of each, means of samples."""
    groups = np.repeat(np.arange(len(sizes)), sizes)
    level = draws.random(len(groups))
    sides = []
    for rates in (before, after):
        rate = np.asarray(rates, dtype=float)[groups]
        if icc:
            rate = stats.beta.ppf(level, rate * (1 - icc) / icc, (1 - rate) * (1 - icc) / icc)
        sides.append(draws.binomial(samples, rate) / samples)
    return *sides, groups


def named(found, alpha=0.05):
    """Groups named as in a report: Benjamini and Hochberg's within an axis that is found."""
    return np.maximum(benjamini_hochberg(found.p), found.axis_p) <= alpha


EVEN = ([20] * 10, [0.1] * 10, [0.1] * 10)
FALL = ([20] * 10, [0.4] * 10, [0.2] * 10)
BASES = ([20] * 10, np.linspace(0.1, 0.5, 10), np.linspace(0.1, 0.5, 10) - 0.05)
SMALL_BESIDE_LARGE = ([5, 6, 8, 10, 12, 20, 50, 100, 200, 400], *[[0.5] * 5 + [0.05] * 5] * 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sizes", "before", "after"),
    [EVEN, FALL, BASES, SMALL_BESIDE_LARGE],
    ids=["no change", "all fall", "base rates 10-50 %", "5-12 prompts at 50 %, 20-400 at 5 %"],
)
def test_changes_that_are_alike_are_not_called_different(sizes, before, after):
    draws = np.random.default_rng(4)
    axes, groups, covered, data_sets = 0, 0, [], 60
    for seed in range(data_sets):
        found = group_changes(*answers(draws, sizes, 5, before, after), seed=seed)
        axes += found.axis_p <= 0.05
        groups += named(found).any()
        covered.append(np.mean((found.low <= 0) & (found.high >= 0)))
    assert axes <= 8 and groups <= 8, (
        "5 % of 60 are 3; of 60 at 5 %, more than 8 happen in one of 250 such tests"
    )
    assert 0.92 <= np.mean(covered) <= 0.99


@pytest.mark.slow
def test_small_groups_of_scores_that_scatter_more_than_large_ones_are_not_called_different():
    """Scores do not tell their scatter as shares do: with that of all groups together 15-22 % were false."""
    draws, false = np.random.default_rng(8), 0
    for seed in range(60):
        before, after, groups = answers(draws, SMALL_BESIDE_LARGE[0], 5, *SMALL_BESIDE_LARGE[1:])
        found = group_changes(100 * before, 100 * after, groups, seed=seed)
        false += found.axis_p <= 0.05
    assert false <= 8


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1.0, 100.0], ids=["shares", "scores"])
def test_a_group_whose_answers_alone_are_written_anew_is_not_called_changed(scale):
    """A mitigation that touches one group: its scatter, spread over ten groups, named it in 34 % of comparisons."""
    draws, false, covered, data_sets = np.random.default_rng(12), 0, 0, 60
    groups = np.repeat(np.arange(10), 50)
    for seed in range(data_sets):
        before = draws.binomial(1, 0.2, 500).astype(float)
        after = np.where(groups == 0, draws.binomial(1, 0.2, 500), before)
        found = group_changes(scale * before, scale * after, groups, seed=seed)
        false += named(found).any()
        covered += bool(found.low[0] <= 0 <= found.high[0])
    assert false <= 8 and covered >= 50
    after = np.where(groups == 0, draws.binomial(1, 0.6, 500), before)
    assert named(group_changes(scale * before, scale * after, groups))[0]


def test_one_spread_for_all_would_be_wrong_where_scaled_changes_are_not():
    """The design that shows why changes are scaled: small groups at 50 % beside large ones at 5 %."""
    draws, false = np.random.default_rng(1), 0
    for _ in range(40):
        before, after, groups = answers(draws, *SMALL_BESIDE_LARGE[:1], 5, *SMALL_BESIDE_LARGE[1:])
        change = after - before
        mean = np.bincount(groups, change) / np.bincount(groups)
        others = (mean.sum() - mean) / 9
        pooled = np.sqrt(np.var(change) * (1 / np.bincount(groups) + (1 / np.bincount(groups)).mean() / 9))
        false += (np.abs(mean - others) / pooled > stats.norm.isf(0.025 / 10)).any()
    assert false >= 8


def test_the_one_changed_group_is_found_named_and_covered():
    draws, hits, covered = np.random.default_rng(2), 0, []
    truth = np.array([0.2] + [-0.2 / 9] * 9)
    for seed in range(25):
        found = group_changes(*answers(draws, [20] * 10, 5, [0.1] * 10, [0.3] + [0.1] * 9), seed=seed)
        hits += named(found)[0]
        covered.append((found.low <= truth) & (truth <= found.high))
    assert hits >= 18 and np.mean(covered) > 0.9


def test_women_worse_and_men_better_while_the_rate_over_all_hardly_moves():
    """23 -> 83 % and 19 -> 1 %: what a comparison of rates over all does not see."""
    draws = np.random.default_rng(0)
    found = group_changes(*answers(draws, [100, 100], 1, [0.23, 0.19], [0.83, 0.01], icc=0))
    assert named(found).all() and found.estimate[0] == -found.estimate[1]
    assert found.low[0] < 0.78 < found.high[0] and found.low[0] > 0.5
    assert found.spread_low > 0 and found.spread_after > 0.4 > found.spread_before


@pytest.mark.slow
@pytest.mark.parametrize(("sizes", "samples", "icc"), [([20] * 10, 5, 0.3), ([200] * 2, 1, 0.0)])
def test_the_stated_smallest_change_is_found_four_times_in_five(sizes, samples, icc):
    draws, count = np.random.default_rng(3), len(sizes)
    flat = [0.1] * count
    stated = np.mean(
        [
            group_changes(*answers(draws, sizes, samples, flat, flat, icc), seed=s).minimum_detectable.mean()
            for s in range(3)
        ]
    )
    hits = 0
    for seed in range(20):
        data = answers(draws, sizes, samples, flat, [0.1 + stated, *flat[1:]], icc)
        hits += named(group_changes(*data, seed=seed))[0]
    assert 11 <= hits <= 20


def test_p_and_interval_say_the_same_of_groups_and_axis():
    draws = np.random.default_rng(6)
    for seed in range(30):
        sizes = draws.integers(2, 30, 5)
        rates = draws.uniform(0.05, 0.7, (2, 5))
        found = group_changes(*answers(draws, sizes, 3, *rates), seed=seed)
        assert ((found.p <= 0.05) == ((found.low > 0) | (found.high < 0))).all()
        assert (found.axis_p <= 0.05) == (found.spread_low > 0)
        assert found.spread_low <= found.spread <= found.spread_high


def test_neither_names_nor_rows_nor_numbers_of_copies_change_anything():
    draws = np.random.default_rng(7)
    before, after, groups = answers(draws, [8, 12, 5], 4, [0.2, 0.3, 0.4], [0.4, 0.3, 0.2])
    found = group_changes(before, after, groups)
    order = draws.permutation(len(groups))
    shuffled = group_changes(before[order], after[order], groups[order])
    renamed = group_changes(before, after, np.array([2, 0, 1])[groups])
    for name in ("estimate", "p", "low", "high", "minimum_detectable"):
        assert np.allclose(getattr(found, name), getattr(shuffled, name))
        assert np.allclose(getattr(found, name), getattr(renamed, name)[[2, 0, 1]])
    assert found.axis_p == shuffled.axis_p == renamed.axis_p


def test_estimates_are_those_of_a_loop_and_unbalanced_groups_count_once():
    before, after = np.array([0.0, 0, 1, 1, 0, 0, 1]), np.array([1.0, 0, 1, 1, 1, 0, 0])
    groups = np.array([0, 0, 1, 1, 1, 2, 2])
    found = group_changes(before, after, groups)
    mean = [0.5, 1 / 3, -0.5]
    assert found.mean.tolist() == pytest.approx(mean)
    assert found.estimate[0] == pytest.approx(mean[0] - (mean[1] + mean[2]) / 2)


def test_numbers_that_are_no_shares():
    draws = np.random.default_rng(8)
    groups = np.repeat([0, 1, 2], 40)
    before = draws.normal(50, 10, 120)
    found = group_changes(before, before + draws.normal(0, 2, 120) + 5 * (groups == 1), groups)
    assert named(found)[1] and found.low[1] < 5 < found.high[1]


def test_what_could_not_be_found_is_not_measurable():
    assert "two prompts" in (group_changes([0, 1], [1, 0], [0, 1]).obstacle or "")
    one = group_changes([0, 1, 0, 1, 0], [1, 0, 0, 0, 1], [0, 0, 1, 1, 2])
    assert "too few permutations" in (one.obstacle or "") and np.isnan(one.p).all()
    assert group_changes([], [], []).obstacle
    alike = group_changes([0.0] * 20, [0.0] * 20, [0, 1] * 10)
    assert alike.obstacle is None and alike.axis_p == 1 and alike.estimate.tolist() == [0, 0]
    assert (
        group_changes([3.0] * 20, [3.0] * 20, [0, 1] * 10).obstacle
        == "All numbers of both models are the same."
    )


@pytest.mark.parametrize("axes", [1, 2, 5, 7, 9, 13])
def test_small_groups_of_a_benchmark_of_many_axes_are_compared(axes):
    """Groups of (4, 4) to (7, 7), and five of 5, once stopped with a noncentral F that is no number."""
    draws = np.random.default_rng(axes)
    for sizes in ([4, 4], [5, 5], [6, 6], [7, 7], [5] * 5):
        data = answers(draws, sizes, 4, *[[0.4] * len(sizes)] * 2)
        group_changes(*data, level=0.05 / axes)
    found = group_changes(
        [0.25, 0.25, 0, 0.5, 0, 0.5, 0.5, 0.75], [0, 1, 0.5, 1, 0.25, 0.5, 0.25, 0.5], [0] * 4 + [1] * 4
    )
    assert found.spread_minimum_detectable > 0


def test_deals_without_scatter_do_not_set_the_limits():
    """Four groups of two prompts of one sample: every tenth deal leaves none, and the limits were 2 million."""
    groups = np.repeat(np.arange(4), 2)
    found = group_changes([0, 1, 1, 1, 0, 1, 1, 1], [0, 0, 1, 0, 0, 0, 0, 1], groups)
    assert found.obstacle is None and (found.low >= -2).all() and (found.high <= 2).all()
    assert found.spread_high <= 2 * np.sqrt(4 / 12)
    draws, axes = np.random.default_rng(1), 0
    for seed in range(100):
        found = group_changes(*draws.integers(0, 2, (2, 8)), groups, seed=seed)
        assert ((found.p <= 0.05) == ((found.low > 0) | (found.high < 0))).all()
        assert np.abs([found.low, found.high]).max() <= 2 and found.spread_low <= found.spread_high
        axes += found.axis_p <= 0.05
    assert axes <= 11, "5 % of 100 are 5; by ranks of so few different deals alone it was 17"


@pytest.mark.parametrize("rude", [[0.0] * 8, [0.25, 0.0, 0.5, 0.25, 1.0, 0.25, 0.5, 0.25]])
def test_prompts_that_did_not_move_leave_open_what_so_few_could_hide(rude):
    found = group_changes(rude, rude, [0] * 4 + [1] * 4)
    hidden = (1 - 0.025**0.25) * np.sqrt(2)
    assert found.p.tolist() == [1, 1] and found.axis_p == 1
    assert found.high.tolist() == pytest.approx([hidden] * 2) and found.low.tolist() == pytest.approx(
        [-hidden] * 2
    )
    assert (found.spread, found.spread_low) == (0, 0)
    assert found.spread_high == pytest.approx(hidden / np.sqrt(2)), "one statement of groups and axis"


@pytest.mark.parametrize("sizes", [[60, 60], [120, 60, 30]])
def test_prompts_that_did_not_move_bound_the_smallest_change(sizes):
    """By hand: as many of n prompts change as 0 of n leaves open at 97.5 % (Clopper and Pearson), each by 1 or -1."""
    groups = np.repeat(np.arange(len(sizes)), sizes)
    rude = np.random.default_rng(5).integers(0, 5, len(groups)) / 4
    found = group_changes(rude, rude, groups)
    share = [stats.beta.ppf(0.975, 1, n) for n in sizes]
    others = [
        sum(share[k] ** 2 for k in range(len(sizes)) if k != g) / (len(sizes) - 1) ** 2
        for g in range(len(sizes))
    ]
    by_hand = [np.sqrt(own**2 + rest) for own, rest in zip(share, others, strict=True)]
    assert found.minimum_detectable == pytest.approx(by_hand)
    assert found.high == pytest.approx(by_hand) and (found.minimum_detectable < 0.2).all()
    # all of it in one group, the others unchanged
    alone = np.zeros(len(sizes))
    alone[np.argmax(by_hand)] = max(by_hand)
    assert found.spread_minimum_detectable == pytest.approx(alone.std(ddof=1))
    # the t interval of the standard error is the same interval, so that margins agree with it
    reach = stats.t.ppf(0.975, found.degrees_of_freedom) * found.standard_error
    assert reach == pytest.approx(by_hand)


def test_numbers_of_which_none_changed_are_bounded_by_their_range():
    scores = [10.0, 20.0, 30.0, 40.0] * 20
    found = group_changes(scores, scores, [0, 1] * 40)
    by_hand = 30 * np.sqrt(2) * stats.beta.ppf(0.975, 1, 40)
    assert found.minimum_detectable == pytest.approx([by_hand] * 2) and found.high == pytest.approx(
        [by_hand] * 2
    )
    assert found.obstacle is None and found.axis_p == 1


def test_mirrored_deals_are_counted_only_for_groups_of_equal_size():
    draws = np.random.default_rng(3)
    before, after = draws.integers(0, 5, (2, 8)) / 4
    assert group_changes(before, after, [0] * 2 + [1] * 6).obstacle is None, "1 / 28"
    assert "0.02" in (group_changes(before, after, [0] * 2 + [1] * 6, level=0.02).obstacle or "")
    assert group_changes(before[:6], after[:6], [0] * 3 + [1] * 3).obstacle is not None, "2 / 20"


def test_bad_input_is_explained():
    with pytest.raises(UsageError, match="must be one-dimensional"):
        group_changes([0, 1], [0], [0, 1])
    with pytest.raises(UsageError, match="contains NaN"):
        group_changes([0, np.nan], [0, 1], [0, 1])


def test_a_small_group_goes_by_its_own_scatter() -> None:
    """Six prompts whose samples agree (ICC .6) next to groups of 60 whose samples do not: named in 13 % before."""
    rng = np.random.default_rng(6)
    groups = np.repeat([0, 1, 2], [6, 60, 60])
    strength = 1 / np.array([0.6, 0.05, 0.05])[groups] - 1
    named = covered = 0
    for number in range(120):
        rates = [rng.beta(0.15 * strength, 0.85 * strength) for _ in range(2)]
        before, after = (rng.binomial(3, rate) / 3 for rate in rates)
        found = group_changes(before, after, groups, seed=number)
        named += found.p[0] <= 0.05 and found.axis_p <= 0.05
        covered += found.low[0] <= 0 <= found.high[0]
    assert named <= 7 and covered >= 111  # 5 % and 95 %: more than 10 named has probability 0.05


def test_one_prompt_more_changes_the_error_a_little() -> None:
    rng = np.random.default_rng(7)
    before, after = rng.binomial(3, 0.3, (2, 100)) / 3
    errors = []
    for more in range(10, 26):
        groups = np.r_[np.repeat([0, 1], 10), np.repeat(2, more)]
        found = group_changes(before[: len(groups)], after[: len(groups)], groups)
        errors.append(found.high[0] - found.low[0])
    assert np.abs(np.diff(np.log(errors))).max() < 0.15


def test_no_change_is_stated_that_the_share_of_a_small_group_cannot_make():
    """Five prompts at 50% beside 160 at 5%: a change of 92 points was stated, but at most 50 are possible."""
    draws, impossible = np.random.default_rng(9), 0
    for seed in range(8):
        before, after, groups = answers(
            draws, [5, 5, 80, 80], 5, [0.5, 0.5, 0.05, 0.05], [0.5, 0.5, 0.05, 0.05]
        )
        stated = group_changes(before, after, groups, level=0.025, seed=seed).minimum_detectable
        start = np.bincount(groups, before) / np.bincount(groups)
        room = np.maximum(start, 1 - start) + 0.1  # the others' change moves where the group is expected
        assert not (np.isfinite(stated) & (stated > room)).any()
        impossible += np.isinf(stated[:2]).sum()
    assert impossible >= 8


def test_where_groups_scatter_by_themselves_the_stated_change_meets_the_level_of_that_test():
    """The p of the axis is twice Simes', so that one of six groups must reach a twelfth of the level."""
    draws, groups = np.random.default_rng(5), np.repeat(np.arange(6), 20)
    before = draws.binomial(5, 0.3, 120) / 5
    after = np.where(groups == 0, draws.binomial(5, 0.3, 120) / 5, before)
    found = group_changes(100 * before, 100 * after, groups, level=0.025)
    change = 100 * (after - before)[groups == 0]
    error = change.std(ddof=1) / np.sqrt(20)
    needed = stats.t.isf(0.025 / 12 / 2, 19)
    power = stats.nct.sf(needed, 19, found.minimum_detectable[0] / error)
    assert 0.8 <= power <= 0.95
