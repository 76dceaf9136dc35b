"""The smallest effects of few units, against the procedure itself."""

import numpy as np
import pytest

from evenhand.stats import benjamini_hochberg
from evenhand.stats.disparity import Units, compare_units, deal, planned_effects
from evenhand.stats.disparity.simulated import Drawn, _power, simulated_differences
from evenhand.studies.calibration.designs import Plant
from evenhand.studies.calibration.designs.tables import planted


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
        found = compare_units(Units.of(x, codes, samples=np.full(len(x), float(samples))))
        if found.differences is not None:
            q = max(benjamini_hochberg(found.differences.p)[0], found.axis_p)
            named += q <= 0.05 and found.differences.found[0]
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
    drawn = Drawn((units,) * groups, samples, False, phi, 0.05, False)
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
        return Units.of(x, codes, samples=np.full(len(x), float(samples)))

    without = np.full(groups, base)
    stated = np.nanmedian([compare_units(drawn(without)).smallest_spread for _ in range(30)])
    differing = planted(without, Plant("half", float(stated)))
    assert np.std(differing, ddof=1) == pytest.approx(stated)
    found = np.mean([compare_units(drawn(differing)).axis_p <= 0.05 for _ in range(150)])
    assert 0.68 <= found <= 0.92


def test_no_spread_is_stated_that_rates_cannot_have() -> None:
    for prompts in (3, 4, 5, 20):
        spread = planned_effects(np.full(10, prompts), 0.1, 25, 0.05)[1]
        assert not spread > np.std(np.where(np.arange(10) % 2 == 0, 0.1, 1.0), ddof=1)
    assert np.isnan(planned_effects(np.full(10, 2), 0.1, 25, 0.05)[1])


def test_the_simulated_level_is_that_of_the_test() -> None:
    drawn = Drawn((8,) * 4, 5, False, 0.44, 0.05, False)
    assert _power(drawn, 0.2, np.zeros(4), 0) <= 0.05


def test_an_effect_is_stated_in_whichever_direction_there_is_room() -> None:
    codes = np.repeat(np.arange(10), 100)
    ones, zeros = (compare_units(Units.of(np.full(1000, value), codes)) for value in (1.0, 0.0))
    assert ones.smallest is not None and zeros.smallest is not None
    assert np.all(np.isfinite(ones.smallest))
    np.testing.assert_allclose(ones.smallest, zeros.smallest)
    assert ones.smallest_spread == pytest.approx(zeros.smallest_spread)
    low, high = (planned_effects(np.full(10, 200), base, 1, 0.05)[0] for base in (0.001, 0.999))
    np.testing.assert_allclose(low, high, rtol=0.05)


def test_two_groups_have_one_smallest_effect() -> None:
    x = np.random.default_rng(1).binomial(1, 0.4, 60).astype(float)
    found = compare_units(Units.of(x, np.repeat([0, 1], 30)))
    assert found.smallest is not None and deal(found.units).count > 0
    assert found.smallest_spread == pytest.approx(found.smallest[0] / np.sqrt(2))
