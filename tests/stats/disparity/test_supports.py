"""Limits for unequal groups: worked examples, continuity, and groups whose prompts scatter unlike the others'."""

import numpy as np
import pytest

from evenhand.stats import benjamini_hochberg
from evenhand.stats.disparity import Supports, Units, compare_with_others
from evenhand.stats.disparity.comparison import _axis_p
from evenhand.stats.disparity.differences import inverted_differences
from evenhand.stats.disparity.supports import detectable_excess


def leave_one_out(groups: int) -> np.ndarray:
    return np.eye(groups) * groups / (groups - 1) - 1 / (groups - 1)


def moments(means, variance, prompts, inverse=0.2) -> Supports:
    return Supports.from_moments(
        *(np.array(part, dtype=float) for part in (means, variance, prompts)), np.full(len(means), inverse)
    )


def test_a_worked_example_of_four_groups() -> None:
    found = moments([0.50, 0.16, 0.12, 0.15], [0.09, 0.04, 0.03, 0.05], [10, 10, 10, 20])
    contrasts = leave_one_out(4)
    differences = inverted_differences(contrasts @ found.means, *found.widths(contrasts))
    assert differences.low == pytest.approx([0.1592, -0.2317, -0.2738, -0.2349], abs=2e-4)
    assert differences.high == pytest.approx([0.5409, 0.0870, 0.0283, 0.0278], abs=2e-4)
    assert differences.p == pytest.approx([0.0007, 0.2600, 0.0883, 0.1086], abs=3e-3)
    assert found.information == pytest.approx([9, 4.9824, 3.9096, 9.88])


def test_a_group_without_events_is_granted_the_worst_clustering() -> None:
    found = moments([0.0, 0.2], [0.0, 0.05], [5, 100])
    differences = inverted_differences(leave_one_out(2) @ found.means, *found.widths(leave_one_out(2)))
    assert differences.p == pytest.approx([0.2639, 0.2639], abs=3e-3)
    assert (differences.low[1], differences.high[1]) == pytest.approx((-0.2342, 0.2474), abs=5e-4)
    assert found.caution[0] == 1.0  # it has far fewer prompts, too


@pytest.mark.parametrize(("prompts", "expected"), [([20] * 10, 0.2343), ([10, 10, 10, 20], 0.3434)])
def test_worked_smallest_effects(prompts, expected) -> None:
    groups = len(prompts)
    found = detectable_excess(np.array(prompts, dtype=float), 0.15, 0.2, 0.2, 0.05 / groups)
    assert found[0] == pytest.approx(expected, abs=2e-3)


def units(rng, sizes, rates, correlations, samples=5) -> Units:
    groups = np.repeat(np.arange(len(sizes)), sizes)
    rate, icc = np.asarray(rates, dtype=float)[groups], np.asarray(correlations, dtype=float)[groups]
    strength = 1 / np.minimum(icc, 0.99) - 1
    chance = rng.beta(np.maximum(rate * strength, 1e-9), np.maximum((1 - rate) * strength, 1e-9))
    chance = np.where(icc >= 1, (rng.random(len(groups)) < rate).astype(float), chance)
    return Units.from_arrays(
        rng.binomial(samples, chance) / samples,
        groups,
        samples=np.full(len(groups), float(samples)),
        shares=True,
    )


def named(drawn: Units) -> np.ndarray:
    found = compare_with_others(drawn)
    if found.obstacle is not None or found.differences is None:
        return np.zeros(drawn.n_groups, dtype=bool)
    return np.maximum(benjamini_hochberg(found.differences.p), found.axis_p) <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sizes", "correlations", "samples"),
    [
        ([15, 15], [1, 0.05], 5),  # named in 10 % by a permutation
        ([15] * 10, [1] + [0.05] * 9, 5),  # 13 %
        ([10, 10, 10, 200], [0.6, 0.6, 0.6, 0.05], 5),  # 14 %
    ],
)
def test_unequal_clustering_names_nobody(sizes, correlations, samples) -> None:
    rng = np.random.default_rng(len(sizes))
    false = sum(named(units(rng, sizes, [0.15] * len(sizes), correlations, samples)).any() for _ in range(60))
    assert false <= 7  # 3 expected at 5 %; more than 7 has probability 0.013


@pytest.mark.slow
def test_unharmed_prompts_do_not_hide_a_harmed_group() -> None:
    """One more prompt used to take the power from 90 to 56 %."""
    power = []
    for more in (19, 20, 60):
        rng = np.random.default_rng(20)
        power.append(
            np.mean(
                [
                    named(units(rng, [10, 10, 10, more], [0.55, 0.15, 0.15, 0.15], [0.2] * 4))[0]
                    for _ in range(40)
                ]
            )
        )
    assert min(power) >= 0.8 and abs(power[0] - power[1]) <= 0.15


def test_one_prompt_more_changes_p_a_little() -> None:
    rng = np.random.default_rng(0)
    values = np.concatenate(
        [[0.8, 0.4, 0.6, 0.2, 1.0, 0.4, 0.8, 0.6, 0.0, 0.6], rng.binomial(5, 0.15, 50) / 5]
    )
    p = []
    for last in range(17, 24):
        groups = np.r_[np.repeat([0, 1, 2], 10), np.repeat(3, last)]
        drawn = Units.from_arrays(
            values[: len(groups)], groups, samples=np.full(len(groups), 5.0), shares=True
        )
        p.append(compare_with_others(drawn).differences.p[0])
    assert np.abs(np.diff(np.log(p))).max() < 0.8 and max(p) < 0.01


@pytest.mark.parametrize(("caution", "least"), [(0.0, 0.0), (0.9, 0.3)])
def test_the_axis_is_found_only_with_a_group_where_prompts_scatter_unequally(caution, least, monkeypatch):
    """Deals that are wrong by any amount must not outweigh the groups' own limits."""
    values = np.random.default_rng(0).integers(0, 6, 30) / 5
    units = Units.from_arrays(values, np.arange(30) % 3, samples=np.full(30, 5.0))
    monkeypatch.setattr(Supports, "caution", property(lambda self: np.full(3, caution)))
    found = _axis_p(units, Supports.estimate(units), 1e-9, 0.3)
    assert found >= least - 1e-9 and (caution > 0 or found < 0.001)
