"""Limits of differences and ratios of rates cover; the additive model is statsmodels' logistic regression."""

import numpy as np
import pytest

from evenhand.stats import wilson_interval
from evenhand.stats.rates import Limited, additive_rates, difference_of_rates, ratio_of_rates


def test_ratio_limits_cover() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.binomial(60, 0.3, 3000), rng.binomial(80, 0.15, 3000)
    limited = []
    for hits, size in ((first, 60), (second, 80)):
        limited.append(Limited(hits / size, *wilson_interval(hits, np.full(3000, size))))
    ratio, difference = ratio_of_rates(*limited), difference_of_rates(*limited)
    assert 0.935 < np.mean((ratio.low <= 2) & (ratio.high >= 2)) < 0.975
    assert 0.935 < np.mean((difference.low <= 0.15) & (difference.high >= 0.15)) < 0.975


def test_rates_of_zero_have_the_limits_that_can_be_known() -> None:
    zero = Limited(np.array([0.0]), np.array([0.0]), np.array([0.1]))
    some = Limited(np.array([0.5]), np.array([0.4]), np.array([0.6]))
    assert [float(v[0]) for v in (ratio_of_rates(zero, some).low, ratio_of_rates(zero, some).high)] == [
        0.0,
        0.25,
    ]
    above = ratio_of_rates(some, zero)
    assert np.isinf(above.rate[0]) and above.low[0] == 4.0 and np.isinf(above.high[0])


def test_the_additive_model_is_statsmodels_logistic_regression() -> None:
    import statsmodels.api as sm

    rng = np.random.default_rng(0)
    rows, columns = (codes.ravel() for codes in np.indices((3, 4)))
    totals = rng.integers(30, 200, 12).astype(float)
    negatives = rng.binomial(totals.astype(int), 0.2).astype(float)
    mine = additive_rates(negatives, totals, rows, columns)
    design = np.column_stack([rows == i for i in range(3)] + [columns == i for i in range(1, 4)]).astype(
        float
    )
    fitted = sm.GLM(
        np.column_stack([negatives, totals - negatives]), design, family=sm.families.Binomial()
    ).fit()
    np.testing.assert_allclose(mine.expected, fitted.fittedvalues, rtol=1e-5)
    influence = fitted.get_influence()
    residual = fitted.resid_pearson / np.sqrt(1 - influence.hat_matrix_diag)
    from scipy.stats import chi2, norm

    np.testing.assert_allclose(mine.p, 2 * norm.sf(np.abs(residual)), rtol=1e-4)
    assert mine.heterogeneity_p == pytest.approx(chi2.sf(fitted.pearson_chi2, 6), rel=1e-4)


def test_a_two_by_two_table_is_judged_alike_in_all_four_cells() -> None:
    two = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    model = additive_rates(np.array([5.0, 20, 20, 10]), np.array([50.0, 60, 70, 80]), *two)
    np.testing.assert_allclose(model.p, model.p[0], rtol=1e-4)
    assert model.p[0] == pytest.approx(model.heterogeneity_p, rel=1e-4)


def test_rows_without_negatives_and_lonely_cells_do_not_break_the_fit() -> None:
    model = additive_rates(
        np.array([0.0, 0, 10, 15, 3]),
        np.array([40.0, 50, 40, 50, 20]),
        *np.array([[0, 0, 1, 1, 2], [0, 1, 0, 1, 2]]),
    )
    assert model.expected[:2].max() < 1e-4 and model.p[:2].min() > 0.9
    assert np.isnan(model.expected[4]) and np.isnan(model.p[4])  # its row and column are the cell itself


def test_a_planted_excess_of_the_smallest_detectable_size_is_found_four_times_in_five() -> None:
    rng = np.random.default_rng(5)
    rows, columns = (codes.ravel() for codes in np.indices((3, 3)))
    totals = np.full(9, 300)
    rates = np.full(9, 0.3)
    model = additive_rates(totals * rates, totals.astype(float), rows, columns)
    from scipy.special import ndtri

    reach = float(ndtri(0.975) + ndtri(0.8)) * model.error[0]
    # the fit follows the planted cell in part: what is left of a shift is its share (1 - leverage)
    kept = model.error[0] ** 2 / (0.3 * 0.7 / 300)
    rates[0] += reach / kept
    found = [
        additive_rates(rng.binomial(totals, rates).astype(float), totals.astype(float), rows, columns).p[0]
        <= 0.05
        for _ in range(400)
    ]
    assert 0.66 < np.mean(found) < 0.88  # the variance changes with so large a shift, too
