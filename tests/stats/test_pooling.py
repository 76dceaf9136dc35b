"""Partial pooling against published and brute-force posteriors, and its gain and coverage when planted."""

import numpy as np
import pytest

from evenhand.schema import UsageError
from evenhand.stats import pool_means, pool_rates


def test_eight_schools():
    # Rubin 1981; posterior medians and 2.5 % quantiles printed in Gelman et al. 2013 (BDA3), table 5.3. They
    # come from 200 simulations: the printed upper limits rest on 5 draws each and are too noisy to compare.
    effects, errors = [28, 8, -3, 7, -1, 1, 18, 12], [15, 10, 16, 11, 9, 11, 10, 18]
    pooled = pool_means(effects, errors)
    np.testing.assert_allclose(pooled.estimate, [10, 8, 7, 8, 5, 6, 10, 8], atol=1.7)
    np.testing.assert_allclose(pooled.low, [-2, -5, -11, -7, -9, -7, -1, -6], atol=3.0)
    assert pooled.mean == pytest.approx(8, abs=0.5)


def test_means_equal_numerical_integration():
    from scipy.integrate import quad

    values, errors = np.array([1.0, 4.0, 2.0, 7.0, 3.5]), np.array([0.8, 1.0, 0.5, 2.0, 1.2])

    def conditional(deviation):
        precision = 1 / (deviation**2 + errors**2)
        common = (precision * values).sum() / precision.sum()
        density = np.sqrt(precision.prod() / precision.sum())
        density *= np.exp(-((values - common) ** 2 * precision).sum() / 2)
        return density, common + deviation**2 * precision * (values - common)

    total = quad(lambda deviation: conditional(deviation)[0], 0, np.inf)[0]
    for group in range(5):
        moment = quad(lambda d, group=group: conditional(d)[0] * conditional(d)[1][group], 0, np.inf)[0]
        assert pool_means(values, errors).estimate[group] == pytest.approx(moment / total, rel=1e-3)


def test_mean_limits_equal_posterior_simulation():
    generator = np.random.default_rng(4)
    values, errors = np.array([28.0, 8, -3, 7, -1, 1, 18, 12]), np.array([15.0, 10, 16, 11, 9, 11, 10, 18])
    # rejection sampling: propose the deviation evenly, keep it by its marginal density
    deviation = generator.uniform(0, 150, size=150_000)
    precision = 1 / (deviation[:, None] ** 2 + errors**2)
    common = (precision * values).sum(axis=1) / precision.sum(axis=1)
    logs = np.log(precision).sum(axis=1) - np.log(precision.sum(axis=1))
    logs = (logs - (precision * (values - common[:, None]) ** 2).sum(axis=1)) / 2
    kept = generator.random(150_000) < np.exp(logs - logs.max())
    deviation, precision, common = deviation[kept, None], precision[kept], common[kept]
    centre = common + generator.normal(size=len(common)) / np.sqrt(precision.sum(axis=1))
    own = 1 / (1 / errors**2 + 1 / deviation**2)
    mean = own * (values / errors**2 + centre[:, None] / deviation**2)
    draws = mean + np.sqrt(own) * generator.normal(size=mean.shape)
    pooled = pool_means(values, errors)
    np.testing.assert_allclose(pooled.low, np.quantile(draws, 0.025, axis=0), atol=1.2)
    np.testing.assert_allclose(pooled.high, np.quantile(draws, 0.975, axis=0), atol=1.2)
    assert pooled.between_deviation == pytest.approx(np.median(deviation), abs=0.4)


def test_means_that_differ_by_noise_only_are_pooled_nearly_completely():
    values = np.random.default_rng(0).normal(size=300)
    pooled = pool_means(values, np.ones(300))
    assert pooled.between_deviation < 0.35
    assert pooled.estimate.std() < 0.15 * values.std()
    assert ((pooled.low < pooled.mean) & (pooled.mean < pooled.high)).all()


def test_mean_shrinkage_gains_and_covers():
    generator = np.random.default_rng(1)
    raw, shrunken, inside = [], [], []
    for _ in range(100):
        truth = generator.normal(0, 0.5, size=25)
        errors = generator.uniform(0.3, 1.2, size=25)
        values = truth + generator.normal(size=25) * errors
        pooled = pool_means(values, errors)
        raw.append(np.mean((values - truth) ** 2))
        shrunken.append(np.mean((pooled.estimate - truth) ** 2))
        inside.append(np.mean((pooled.low <= truth) & (truth <= pooled.high)))
    assert np.mean(shrunken) < 0.4 * np.mean(raw)
    assert 0.93 <= np.mean(inside) <= 0.97


def test_rates_equal_a_plain_sum_over_a_fine_grid():
    from scipy.special import betaln

    generator = np.random.default_rng(2)
    totals = generator.integers(3, 60, size=40)
    successes = generator.binomial(totals, generator.beta(2, 8, size=40))
    pooled = pool_rates(successes, totals)
    means, roots = (np.arange(400) + 0.5) / 400, (np.arange(300) + 0.5) / 300
    mean, strength = means[:, None, None], 1 / roots[None, :, None] ** 2
    alpha, beta = mean * strength, (1 - mean) * strength
    likelihood = (betaln(alpha + successes, beta + totals - successes) - betaln(alpha, beta)).sum(axis=-1)
    weight = np.exp(likelihood - likelihood.max())[..., None]
    expected = (weight * (alpha + successes) / (strength + totals)).sum(axis=(0, 1)) / weight.sum()
    np.testing.assert_allclose(pooled.estimate, expected, rtol=2e-3)
    assert pooled.mean == pytest.approx(float((weight * mean).sum() / weight.sum()), rel=2e-3)
    assert pooled.between_deviation == pytest.approx(0.12, abs=0.04)  # of beta(2, 8)


def test_grid_finds_a_sharp_peak():
    # 3 million outcomes at a rate of 0.0002: far narrower than a first look at 0 to 1 could see
    pooled = pool_rates([60, 61, 59] * 10, [300_000] * 30)
    np.testing.assert_allclose(pooled.estimate, 2e-4, rtol=0.005)
    assert pooled.between_deviation < 2e-5
    assert (pooled.high - pooled.low < 1e-4).all()


def test_rate_shrinkage_gains_and_covers():
    generator = np.random.default_rng(3)
    raw, shrunken, inside = [], [], []
    for _ in range(100):
        totals = generator.integers(5, 40, size=50)
        truth = generator.beta(3, 27, size=50)
        successes = generator.binomial(totals, truth)
        pooled = pool_rates(successes, totals)
        raw.append(np.mean((successes / totals - truth) ** 2))
        shrunken.append(np.mean((pooled.estimate - truth) ** 2))
        inside.append(np.mean((pooled.low <= truth) & (truth <= pooled.high)))
    assert np.mean(shrunken) < 0.5 * np.mean(raw)
    assert 0.915 <= np.mean(inside) <= 0.97


def test_large_groups_keep_their_own_rate():
    pooled = pool_rates([300, 2, 0, 5], [1000, 4, 3, 50])
    assert pooled.estimate[0] == pytest.approx(0.3, abs=0.005)
    assert 0 < pooled.estimate[2] < 0.3
    width = pooled.high - pooled.low
    assert width[0] < width[3] < width[1]


def test_groups_with_one_rate_get_about_its_limits():
    from evenhand.stats import wilson_interval

    pooled = pool_rates([10] * 20, [100] * 20)
    np.testing.assert_allclose(pooled.estimate, 0.1, atol=0.001)
    low, high = wilson_interval(200, 2000)
    own_low, own_high = wilson_interval(10, 100)
    # wider than if one rate were known to hold for all, far narrower than each group alone
    assert (own_low + 0.015 < pooled.low).all()
    assert (pooled.low < low).all()
    assert (high < pooled.high).all()
    assert (pooled.high < own_high - 0.03).all()


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_no_outcome_differs(share):
    totals = np.array([10, 0, 200])
    pooled = pool_rates(share * totals, totals)
    assert (pooled.low < pooled.high).all()
    assert (np.abs(pooled.estimate - share) < 0.1).all()
    assert abs(pooled.estimate[2] - share) < 0.01


def test_a_group_without_outcomes_gets_the_common_distribution():
    pooled = pool_rates([0, 5, 40, 2], [0, 10, 100, 40])
    assert pooled.estimate[0] == pytest.approx(pooled.mean)
    missing = pool_means([1.0, np.nan, 3.0, 2.5], [0.5] * 4)
    assert np.isnan(missing.estimate[1])
    assert np.isfinite(missing.low[[0, 2, 3]]).all()


def test_wrong_input_is_refused():
    with pytest.raises(UsageError, match="successes <= totals"):
        pool_rates([3], [2])
    with pytest.raises(UsageError, match="all totals are 0"):
        pool_rates([0, 0], [0, 0])
    with pytest.raises(UsageError, match="same length"):
        pool_means([1.0], [1.0, 2.0])
    with pytest.raises(UsageError, match="standard error above 0"):
        pool_means([1.0, 2.0, 3.0], [1.0, 1.0, 0.0])
