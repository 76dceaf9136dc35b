"""Things arranged for a rank relation: what is left when some go, and what ties leave possible."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from evenhand.stats.associations.arranged import RankData, prepare_rank_data
from evenhand.stats.associations.partial import bin_indicators, ranks_within, split_half_reliability


def drawn(rows: int, templates: int, seed: int) -> RankData:
    random = np.random.default_rng(seed)
    first, lengths = random.normal(size=rows), random.integers(2, 12, size=rows)
    axes = np.arange(rows) % 3
    return prepare_rank_data(
        first, random.normal(size=(rows, templates)), axes, np.arange(rows) // 4, lengths[:, None]
    )


def test_without_a_cluster_the_rest_is_arranged_as_if_it_had_never_been_there() -> None:
    data = drawn(60, 1, 0)
    rest = data.drop_rows(data.clusters == 2)
    kept = data.clusters != 2
    assert rest.columns[:, :3] == pytest.approx(ranks_within(data.values[kept], data.strata[kept]))
    for one in range(3):
        assert rest.columns[rest.strata == one].mean(axis=0) == pytest.approx(0)


def test_a_row_that_was_seen_in_one_template_alone_goes_when_that_does() -> None:
    data = drawn(60, 3, 1)
    outcome = data.outcome.copy()
    outcome[:2, 1:] = np.nan
    holed = prepare_rank_data(data.values[:, 0], outcome, data.strata, data.clusters, data.values[:, 2:])
    assert [len(holed.drop_sample(column).values) for column in range(3)] == [58, 60, 60]
    fewer = holed.drop_sample(0)
    assert fewer.outcome.shape == (58, 2)
    again = prepare_rank_data(
        data.values[2:, 0], outcome[2:, 1:], data.strata[2:], data.clusters[2:], data.values[2:, 2:]
    )
    assert fewer.columns[:, :3] == pytest.approx(again.columns[:, :3])


def test_ties_leave_the_correlation_of_the_sorted_numbers_possible() -> None:
    # 3 of 156 above the rest: the square root of 3 p (1 - p)
    often = np.r_[np.arange(1.0, 4.0), np.zeros(153)]
    data = prepare_rank_data(
        often, np.random.default_rng(2).normal(size=156), np.zeros(156), np.arange(156), None
    )
    assert data.largest_correlation() == pytest.approx(spearmanr(np.sort(often), np.arange(156))[0])
    assert data.largest_correlation() == pytest.approx(np.sqrt(3 * (3 / 156) * (153 / 156)), abs=0.01)


def test_bins_hold_a_step_equal_wherever_it_lies() -> None:
    lengths = np.random.default_rng(3).integers(2, 14, size=600).astype(float)
    bins = bin_indicators(lengths[:, None])
    basis = np.column_stack([np.ones(600), bins])
    for step in range(3, 14):
        told = np.linalg.lstsq(basis, (lengths < step).astype(float), rcond=None)[1]
        assert told == pytest.approx(0, abs=1e-9)
    assert bin_indicators(lengths[:20, None]).shape[1] <= 1


def test_reliability_is_that_of_spearman_and_brown() -> None:
    random = np.random.default_rng(4)
    halves = random.normal(size=(200, 1)) + random.normal(size=(200, 2))
    r = spearmanr(halves)[0]
    assert split_half_reliability(halves, np.zeros(200, np.int64)) == pytest.approx(2 * r / (1 + r))
    assert split_half_reliability(halves * [1, 0], np.zeros(200, np.int64)) == 0
    assert split_half_reliability(halves[:2], np.zeros(2, np.int64)) is None
