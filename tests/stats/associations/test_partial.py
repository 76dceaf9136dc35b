"""Ranks within strata and partial ranks, against SciPy and least squares written out."""

import numpy as np
import pytest
from scipy.stats import rankdata, spearmanr

from evenhand.stats.associations import centred_means, ranks_within
from evenhand.stats.associations.partial import correlation, partial_residuals


def test_in_one_stratum_the_correlation_is_spearmans() -> None:
    random = np.random.default_rng(0)
    values = np.round(random.normal(size=(60, 2)), 1)  # with ties
    ranks = ranks_within(values, np.zeros(60, np.int64))
    assert correlation(ranks) == pytest.approx(spearmanr(values)[0])


def test_the_partial_correlation_is_that_of_the_textbook() -> None:
    random = np.random.default_rng(1)
    control = random.normal(size=80)
    values = np.column_stack([control + random.normal(size=80), control + random.normal(size=80), control])
    one, other, third = (spearmanr(values[:, i], values[:, j])[0] for i, j in ((0, 1), (0, 2), (1, 2)))
    expected = (one - other * third) / np.sqrt((1 - other**2) * (1 - third**2))
    ranks = ranks_within(values, np.zeros(80, np.int64))
    assert correlation(partial_residuals(ranks)) == pytest.approx(expected)


def test_strata_leave_no_difference_and_any_rising_scale_of_one_changes_nothing() -> None:
    random = np.random.default_rng(2)
    strata = np.repeat([0, 1, 2], [10, 20, 30])
    values = random.normal(size=60)
    ranks = ranks_within(values, strata)
    assert [ranks[strata == one].mean() for one in range(3)] == pytest.approx([0, 0, 0])
    assert ranks_within(np.where(strata == 1, np.exp(values) + 100, values), strata) == pytest.approx(ranks)
    assert ranks[strata == 0] == pytest.approx((rankdata(values[strata == 0]) - 0.5) / 10 - 0.5)


def test_controls_that_say_nothing_do_nothing() -> None:
    random = np.random.default_rng(3)
    ranks = ranks_within(random.normal(size=(40, 3)), np.zeros(40, np.int64))
    same = np.column_stack([ranks, ranks[:, 2] * 2, np.zeros(40)])
    assert partial_residuals(same) == pytest.approx(partial_residuals(ranks))


def test_a_template_that_few_were_asked_in_moves_nobody() -> None:
    # the second template is 10 worse for all: who was asked in it alone is not
    outcome = np.array([[1.0, 11.0], [2.0, 12.0], [3.0, np.nan], [np.nan, 12.0]])
    means = centred_means(outcome, np.zeros(4, np.int64))
    assert means[0] < means[1] < means[2]
    assert abs(means[3]) < 1
    assert np.isnan(centred_means(np.full((2, 2), np.nan), np.zeros(2, np.int64))).all()
