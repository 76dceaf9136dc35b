"""Rates without a classifier's errors: false alarms by group do not look like bias, harm is found through them."""

import numpy as np
import pytest

from evenhand.stats import benjamini_hochberg
from evenhand.stats.disparity import CorrectedRates, GroupLimits, LabelCounts, Units, compare_corrected
from evenhand.stats.disparity.deals import leave_one_out
from evenhand.stats.disparity.differences import GRID, inverted_differences

HITS = 0.9


def labels(alarms: object, texts: float, hits: object = None, shared: bool = False) -> LabelCounts:
    rate = np.asarray(alarms, dtype=float)
    found = np.full(len(rate), HITS * texts) if hits is None else np.asarray(hits, dtype=float)
    whole = np.full(len(rate), float(texts))
    return LabelCounts(rate, whole, found, whole, np.full(len(rate), shared))


def judged(counts: list[int], n: int) -> Units:
    values = np.concatenate([np.repeat([1.0, 0.0], [count, n - count]) for count in counts])
    return Units.from_arrays(values, np.repeat(np.arange(len(counts)), n))


def any_false(
    groups: int, prompts: int, rate: float, texts: int, sets: int = 150, seed: int = 0
) -> tuple[float, float]:
    """Share of data sets without any difference in which a group is named, and of intervals that hold 0."""
    random = np.random.default_rng(seed)
    contrasts, false, inside = leave_one_out(groups), 0, []
    for _ in range(sets):
        alarm = 0.08 + np.abs(random.normal(0, 0.04, groups))
        units = judged(random.binomial(prompts, alarm + (HITS - alarm) * rate).tolist(), prompts)
        counts = labels(random.binomial(texts, alarm), texts, random.binomial(texts, HITS, groups))
        corrected = CorrectedRates(GroupLimits.estimate(units), counts)
        found = inverted_differences(contrasts @ corrected.rates, *corrected.widths(contrasts, GRID))
        false += bool((benjamini_hochberg(found.p) <= 0.05).any())
        inside.append(((found.low <= 0) & (found.high >= 0)).mean())
    return false / sets, float(np.mean(inside))


@pytest.mark.parametrize(("prompts", "rate", "texts"), [(400, 0.2, 60), (400, 0.2, 400), (500, 0.01, 60)])
def test_false_alarms_that_differ_by_group_name_nobody(prompts: int, rate: float, texts: int) -> None:
    false, inside = any_false(10, prompts, rate, texts)
    assert false <= 0.06 + 2 * 0.019
    assert inside >= 0.93


def test_the_rate_is_rogan_and_gladens_and_its_variance_the_sum_of_three() -> None:
    units, counts = judged([60, 90], 300), labels([20, 40], 400)
    found = CorrectedRates(GroupLimits.estimate(units), counts)
    alarm, hit = np.array([20.5, 40.5]) / 401, np.full(2, 360.5 / 401)
    true = (np.array([0.2, 0.3]) - alarm) / (hit - alarm)
    assert found.rates == pytest.approx(true, abs=1e-12)
    parts = (1 - true) ** 2 * alarm * (1 - alarm) / 401 + true**2 * hit * (1 - hit) / 401
    assert found.label_variance == pytest.approx(parts / (hit - alarm) ** 2, rel=1e-9)
    low, high = found.bounds_at(1.959964)
    assert (high - low) / 2 == pytest.approx(1.96 * np.sqrt(found.variance), rel=0.08)


def test_a_gap_that_false_alarms_explain_is_none_and_one_beyond_them_is() -> None:
    # of 300 texts 60 are harmful in both groups; the classifier is harsher on the second
    harsher = compare_corrected(judged([78, 105], 300), labels([40, 100], 500))
    assert harsher.differences is not None and not harsher.differences.excludes_zero.any()
    worse = compare_corrected(judged([78, 180], 300), labels([40, 100], 500))
    assert worse.differences is not None and worse.differences.excludes_zero.all()
    assert worse.axis_p <= 0.05
    assert worse.spread is not None and worse.spread.low > 0


def test_the_luck_of_one_labelled_set_about_all_groups_is_no_difference() -> None:
    units = judged([60, 66], 300)
    own = compare_corrected(units, labels([10, 10], 60)).differences
    common = compare_corrected(units, labels([10, 10], 60, shared=True)).differences
    assert own is not None and common is not None
    assert common.high[0] - common.low[0] < 0.8 * (own.high[0] - own.low[0])


def test_groups_without_labels_or_behind_a_coin_take_no_part() -> None:
    counts = labels([20, np.nan, 200, 20], 400, [360, np.nan, 200, 360])
    counts = LabelCounts(
        counts.false_alarms,
        np.array([400, np.nan, 400, 400]),
        counts.hits,
        np.array([400, np.nan, 400, 400]),
        counts.shared,
    )
    found = compare_corrected(judged([60, 60, 60, 60], 300), counts)
    assert found.places.tolist() == [0, 3]
    assert "no labelled texts" in found.left_out[1]
    assert "do not show" in found.left_out[2]
    nobody = compare_corrected(judged([60, 60], 300), labels([np.nan, np.nan], 60))
    assert nobody.obstacle is not None and "No group is measurable" in nobody.obstacle


def test_too_few_labels_cannot_tell_what_judgements_show() -> None:
    found = compare_corrected(judged([60, 30], 300), labels([4, 2], 30))
    assert found.obstacle is not None and "Label more texts" in found.obstacle
    assert compare_corrected(judged([60, 30], 300), labels([40, 40], 500)).obstacle is None


def test_power_at_the_stated_smallest_effect() -> None:
    random = np.random.default_rng(3)
    prompts, texts, rate, alarm = 200, 400, 0.2, 0.1
    contrasts = leave_one_out(2)

    def drawn(effect: float) -> tuple[Units, LabelCounts]:
        true = np.array([rate + effect, rate])
        units = judged(random.binomial(prompts, alarm + (HITS - alarm) * true).tolist(), prompts)
        return units, labels(random.binomial(texts, alarm, 2), texts, random.binomial(texts, HITS, 2))

    stated = compare_corrected(judged([52, 52], prompts), labels([40, 40], texts)).smallest
    assert stated is not None
    hits = 0
    for _ in range(200):
        units, counts = drawn(float(stated[0]))
        corrected = CorrectedRates(GroupLimits.estimate(units), counts)
        found = inverted_differences(contrasts @ corrected.rates, *corrected.widths(contrasts, GRID))
        hits += bool(found.p[0] <= 0.05)
    assert 0.70 <= hits / 200 <= 0.90
