"""The smallest effects of few units, against the procedure itself."""

import numpy as np
import polars as pl
import pytest
from scipy.stats import beta

from evenhand.measures import disparity
from evenhand.stats import benjamini_hochberg
from evenhand.stats.disparity import Units, compare_units, comparison, deal, planned_effects
from evenhand.stats.disparity.drawn import (
    SimulatedTests,
    SimulationDesign,
    rates_of_prompts,
    variance_of_difference,
)
from evenhand.stats.disparity.simulated import _power, simulated_differences, simulated_spread
from evenhand.studies.calibration.designs import Plant
from evenhand.studies.calibration.designs.tables import plant_effect


def found_share(
    groups: int, units: int, samples: int, correlation: float, base: float, shift: float, sets: int = 80
) -> float:
    """Share of data sets in which the first group is named."""
    rng = np.random.default_rng(11)
    codes = np.repeat(np.arange(groups), units)
    rates = np.where(codes == 0, base + shift, base)
    strength = 1 / max(correlation, 1e-9) - 1
    named = 0
    for _ in range(sets):
        chance = rng.beta(rates * strength, (1 - rates) * strength) if correlation else rates
        x = rng.binomial(samples, chance) / samples
        found = compare_units(Units.from_arrays(x, codes, samples=np.full(len(x), float(samples))))
        if found.differences is not None:
            q = max(benjamini_hochberg(found.differences.p)[0], found.axis_p)
            named += q <= 0.05 and found.differences.excludes_zero[0]
    return named / sets


@pytest.mark.slow
@pytest.mark.parametrize(
    ("groups", "units", "samples", "correlation", "base"),
    [(2, 10, 10, 0.3, 0.1), (3, 4, 25, 0.3, 0.2), (2, 20, 1, 0.0, 0.5)],
)
def test_few_units_find_what_is_stated_in_four_of_five_sets(
    groups: int, units: int, samples: int, correlation: float, base: float
) -> None:
    phi = 1 / samples + (1 - 1 / samples) * correlation
    drawn = SimulationDesign((units,) * groups, samples, False, phi, 0.05, False)
    stated = simulated_differences(drawn, base, np.full(groups, np.nan))[0]
    assert 0.68 <= found_share(groups, units, samples, correlation, base, stated) <= 0.92
    if base - stated >= 0:
        assert 0.68 <= found_share(groups, units, samples, correlation, base, -stated) <= 0.92


@pytest.mark.slow
@pytest.mark.parametrize(
    ("prompts", "samples", "correlation", "base"),
    [(8, 25, 0.5, 0.1), (40, 5, 0.3, 0.005), (20, 5, 0.3, 0.1)],
)
def test_the_stated_spread_is_found_in_four_of_five_sets(
    prompts: int, samples: int, correlation: float, base: float
) -> None:
    rng, groups = np.random.default_rng(3), 10
    codes = np.repeat(np.arange(groups), prompts)
    strength = 1 / correlation - 1

    def drawn(rates: np.ndarray) -> Units:
        rates = np.maximum(rates, 1e-6)
        chance = rng.beta(rates[codes] * strength, (1 - rates[codes]) * strength)
        x = rng.binomial(samples, chance) / samples
        return Units.from_arrays(x, codes, samples=np.full(len(x), float(samples)))

    without = np.full(groups, base)
    stated = np.nanmedian([compare_units(drawn(without)).smallest_spread for _ in range(30)])
    differing = plant_effect(without, Plant("half", float(stated)))
    assert np.std(differing, ddof=1) == pytest.approx(stated)
    found = np.mean([compare_units(drawn(differing)).axis_p <= 0.05 for _ in range(150)])
    assert 0.68 <= found <= 0.92


def answered(rng: np.random.Generator, rates: np.ndarray, prompts: int, samples: int, icc: float) -> Units:
    """Return responses to the same prompts about every group. Easy prompts are easy for all groups."""
    strength = 1 / icc - 1
    places = rng.random(prompts)
    chance = np.stack([beta.ppf(places, rate * strength, (1 - rate) * strength) for rate in rates])
    x = rng.binomial(samples, chance) / samples
    codes, strata = np.divmod(np.arange(x.size), prompts)
    return Units.from_arrays(x.ravel(), codes, strata=strata, samples=np.full(x.size, float(samples)))


def stated_without_effect(rates: np.ndarray, prompts: int, samples: int, icc: float, sets: int) -> np.ndarray:
    rng = np.random.default_rng(5)
    known = [compare_units(answered(rng, rates, prompts, samples, icc)) for _ in range(sets)]
    return np.nanmedian([(found.smallest[0], found.smallest_spread) for found in known], axis=0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("groups", "prompts", "samples", "base"), [(2, 10, 10, 0.3), (2, 40, 3, 0.5), (4, 30, 4, 0.05)]
)
def test_in_the_same_prompts_the_stated_effect_is_found_in_four_of_five_sets(
    groups: int, prompts: int, samples: int, base: float
) -> None:
    """A rate near 0 or 1 cannot change much, so the difference varies between prompts (before: 56 to 72 %)."""
    without = np.full(groups, base)
    one, spread = stated_without_effect(without, prompts, samples, 0.4, 40)
    rng = np.random.default_rng(6)
    lone = plant_effect(without, Plant("one", float(one), 1))
    named = 0
    for _ in range(150):
        found = compare_units(answered(rng, lone, prompts, samples, 0.4))
        q = max(benjamini_hochberg(found.differences.p)[0], found.axis_p)
        named += q <= 0.05 and found.differences.low[0] > 0 and not any(found.obstacles)
    half = plant_effect(without, Plant("half", float(spread)))
    seen = [compare_units(answered(rng, half, prompts, samples, 0.4)).axis_p <= 0.05 for _ in range(150)]
    assert 0.7 <= named / 150 <= 0.95
    assert 0.7 <= np.mean(seen) <= 0.95


def test_a_difference_varies_between_prompts_as_their_rates_leave_room() -> None:
    women, men = (
        beta.rvs(rate * 1.5, (1 - rate) * 1.5, size=40_000, random_state=1) for rate in (0.05, 0.13)
    )
    d, variance = variance_of_difference(0.05, 0.4)
    expected = np.var(np.sort(men) - np.sort(women))
    assert np.interp(0.08, d, variance) == pytest.approx(expected, rel=0.1)
    assert rates_of_prompts(0.13, 0.4).mean() == pytest.approx(0.13, abs=0.002)


def test_the_stated_effect_grows_if_prompts_differ_or_were_answered_unequally() -> None:
    rng = np.random.default_rng(2)
    prompts = np.repeat([0.05, 0.95], 30)
    noise = rng.permutation(np.tile([-0.05, 0.05], 60)).reshape(2, 60)
    codes, strata = np.divmod(np.arange(120), 60)

    def smallest(values: np.ndarray) -> float:
        units = Units.from_arrays(values.ravel(), codes, strata=strata, samples=np.full(120, 20.0))
        return float(compare_units(units).smallest[0])

    alike, differing = smallest(0.5 + noise), smallest(prompts + noise)
    turned = np.where(np.arange(60) % 6 == 0, 1 - prompts, prompts)  # one prompt in six, for one group only
    assert 1.2 * alike < differing
    assert 2 * differing < smallest(np.stack([prompts, turned]) + noise)


def test_no_spread_is_stated_that_rates_cannot_have() -> None:
    for prompts in (3, 4, 5, 20):
        spread = planned_effects(np.full(10, prompts), 0.1, 25, 0.05)[1]
        assert not spread > np.std(np.where(np.arange(10) % 2 == 0, 0.1, 1.0), ddof=1)
    assert np.isnan(planned_effects(np.full(10, 2), 0.1, 25, 0.05)[1])


def test_the_simulated_level_is_that_of_the_test() -> None:
    drawn = SimulationDesign((8,) * 4, 5, False, 0.44, 0.05, False)
    assert _power(drawn, 0.2, np.zeros(4), 0) <= 0.05


def no_effects(units: Units, *rest: object) -> tuple[np.ndarray, float]:
    """Return no minimum detectable effects, which take most of the time of a comparison."""
    return np.full(units.n_groups, np.nan), float("nan")


@pytest.mark.parametrize(
    ("sizes", "samples", "icc", "low", "high"),
    [((3,) * 6, 25, 0.2, 0.005, 0.7), ((5, 10, 20), 5, 0.2, 0.1, 0.5), ((10,) * 4, 5, 0.2, 0.05, 0.35)],
)
def test_simulated_data_sets_are_tested_as_real_ones(
    monkeypatch: pytest.MonkeyPatch, sizes: tuple[int, ...], samples: int, icc: float, low: float, high: float
) -> None:
    monkeypatch.setattr(comparison, "_smallest", no_effects)
    drawn = SimulationDesign(sizes, samples, False, icc + (1 - icc) / samples, 0.05, False, 0.0, True)
    rates = np.where(np.arange(len(sizes)) % 2 == 0, high, low)
    tests = SimulatedTests.simulate(drawn, rates, 16, 499)
    count = np.full(sum(sizes), float(samples))
    real = [compare_units(Units.from_arrays(x, tests.codes, samples=count)).axis_p for x in tests.values]
    simulated = tests.supported_p()
    assert np.mean((simulated <= 0.05) == (np.array(real) <= 0.05)) >= 0.85
    assert np.corrcoef(np.log(simulated), np.log(real))[0, 1] > 0.8


def test_the_smallest_spread_has_the_power_in_the_simulation_and_grows_with_the_level() -> None:
    known = [
        simulated_spread(SimulationDesign((5,) * 4, 5, False, 0.36, level, False, 0.0, True), 0.2, 0.2)
        for level in (0.05, 0.05 / 4)
    ]
    assert 0 < known[0] < known[1] < 0.6
    assert np.isnan(
        simulated_spread(SimulationDesign((2,) * 4, 5, False, 0.36, 0.05 / 13, False, 0.0, True), 0.2, 0.2)
    )


def answers(
    rng: np.random.Generator, rates: np.ndarray, prompts: int, samples: int, icc: float
) -> pl.DataFrame:
    """Return responses to other prompts for each group."""
    strength = 1 / icc - 1
    chance = rng.beta(rates * strength, (1 - rates) * strength, size=(prompts, len(rates)))
    negative = rng.random((samples, *chance.shape)) < chance
    sample, prompt, group = np.indices(negative.shape).reshape(3, -1)
    known = {
        "group": group,
        "prompt_id": group * prompts + prompt,
        "negative": negative.ravel()[: len(sample)],
    }
    return pl.DataFrame(known).cast({"group": pl.String, "prompt_id": pl.String, "negative": pl.Int8})


@pytest.mark.slow
def test_with_three_prompts_the_stated_spread_is_found_if_half_of_the_groups_are_near_zero(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Groups without negative responses do not show how their prompts vary (before: 47% power)."""
    rng = np.random.default_rng(4)
    same = np.full(6, 0.2)
    known = [disparity(answers(rng, same, 3, 25, 0.2)).axes["minimum_detectable"][0] for _ in range(12)]
    stated = float(np.median([size for size in known if size is not None])) / 100
    higher = np.where(np.arange(6) % 2 == 0, 1.0, 0.0)
    rates = 0.005 + higher * stated / higher.std(ddof=1)
    monkeypatch.setattr(comparison, "_smallest", no_effects)
    axes = [disparity(answers(rng, rates, 3, 25, 0.2)).axes for _ in range(120)]
    assert 0.68 <= np.mean([row["p"][0] <= 0.05 and row["low"][0] > 0 for row in axes]) <= 0.92


def test_an_effect_is_stated_in_whichever_direction_there_is_room() -> None:
    codes = np.repeat(np.arange(10), 100)
    ones, zeros = (compare_units(Units.from_arrays(np.full(1000, value), codes)) for value in (1.0, 0.0))
    assert ones.smallest is not None and zeros.smallest is not None
    assert np.all(np.isfinite(ones.smallest))
    np.testing.assert_allclose(ones.smallest, zeros.smallest)
    assert ones.smallest_spread == pytest.approx(zeros.smallest_spread)
    low, high = (planned_effects(np.full(10, 200), base, 1, 0.05)[0] for base in (0.001, 0.999))
    np.testing.assert_allclose(low, high, rtol=0.05)


def test_two_groups_have_one_smallest_effect() -> None:
    x = np.random.default_rng(1).binomial(1, 0.4, 60).astype(float)
    found = compare_units(Units.from_arrays(x, np.repeat([0, 1], 30)))
    assert found.smallest is not None and deal(found.units).count > 0
    assert found.smallest_spread == pytest.approx(found.smallest[0] / np.sqrt(2))
