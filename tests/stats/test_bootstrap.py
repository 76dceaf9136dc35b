"""The cluster bootstrap against closed forms and brute force, and whether its intervals cover."""

import math

import numpy as np
import pytest
from scipy.special import stdtrit

from evenhand.schema import UsageError
from evenhand.stats import (
    cluster_bootstrap,
    cluster_bootstrap_table,
    difference_bootstrap,
    jackknife,
    sums_bootstrap,
)
from evenhand.stats.clusters import resample_counts

NOMINAL = (0.93, 0.97)


def clustered(data_sets, groups, size, correlation, seed, *, skewed=False):
    """Cluster sums (data_sets, groups) of unit-variance values around 0 with an intraclass correlation."""
    generator = np.random.default_rng(seed)
    draw = (lambda shape: generator.exponential(size=shape) - 1) if skewed else generator.standard_normal
    shared = draw((data_sets, groups, 1)) * math.sqrt(correlation)
    values = shared + draw((data_sets, groups, size)) * math.sqrt(1 - correlation)
    return values


def coverage(low, high, truth=0.0):
    return float(np.mean((low <= truth) & (truth <= high)))


@pytest.mark.parametrize(
    ("groups", "size", "correlation"),
    [(40, 25, 0.3), (40, 25, 0.6), (100, 5, 0.3), (100, 10, 0.5), (10, 25, 0.3), (26, 32, 0.5), (15, 4, 0.0)],
)
def test_one_way_interval_covers(groups, size, correlation):
    values = clustered(3000, groups, size, correlation, seed=groups * size)
    table = cluster_bootstrap_table(
        values.sum(axis=2), np.full((3000, groups), float(size)), resamples=1000, seed=1
    )
    assert NOMINAL[0] <= coverage(table.low, table.high) <= NOMINAL[1]


@pytest.mark.parametrize(("groups", "size"), [(26, 25), (40, 25)])
def test_one_way_interval_covers_with_unequal_clusters_and_skewed_values(groups, size):
    generator = np.random.default_rng(groups)
    sizes = generator.integers(5, 45, size=(3000, groups)).astype(float)
    means = generator.normal(size=(3000, groups)) * math.sqrt(0.3)
    sums = sizes * means + generator.normal(size=(3000, groups)) * np.sqrt(0.7 * sizes)
    table = cluster_bootstrap_table(sums, sizes, resamples=1000, seed=2)
    assert NOMINAL[0] <= coverage(table.low, table.high) <= NOMINAL[1]
    skewed = clustered(3000, groups, size, 0.3, seed=groups, skewed=True).sum(axis=2)
    table = cluster_bootstrap_table(skewed, np.full_like(skewed, size), resamples=1000, seed=3)
    assert NOMINAL[0] <= coverage(table.low, table.high) <= NOMINAL[1]


def test_pretending_independence_covers_half_the_time():
    # by simulation: 40 prompts × 25 generations, correlation .3: 48 % against 89 % or more
    values = clustered(2000, 40, 25, 0.3, seed=11)
    flat = values.reshape(2000, -1)
    half = 1.96 * flat.std(axis=1, ddof=1) / math.sqrt(1000)  # what resampling rows tends to
    independent = coverage(flat.mean(axis=1) - half, flat.mean(axis=1) + half)
    table = cluster_bootstrap_table(values.sum(axis=2), np.full((2000, 40), 25.0), resamples=1000, seed=4)
    assert 0.44 <= independent <= 0.55
    assert NOMINAL[0] <= coverage(table.low, table.high) <= NOMINAL[1]


def test_percentile_limits_would_not_cover_with_ten_clusters():
    means = clustered(2000, 10, 25, 0.3, seed=12).mean(axis=2)
    generator = np.random.default_rng(0)
    weights = generator.multinomial(10, np.full(10, 0.1), size=1000) / 10
    low, high = np.quantile(means @ weights.T, [0.025, 0.975], axis=1)
    assert 0.85 <= coverage(low, high) <= 0.92


def two_way(data_sets, rows, columns, row_share, column_share, seed):
    generator = np.random.default_rng(seed)
    values = generator.normal(size=(data_sets, rows, 1)) * math.sqrt(row_share)
    values = values + generator.normal(size=(data_sets, 1, columns)) * math.sqrt(column_share)
    rest = math.sqrt(1 - row_share - column_share)
    return (values + generator.normal(size=(data_sets, rows, columns)) * rest).reshape(data_sets, -1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "columns", "row_share", "column_share"),
    [(10, 26, 0.3, 0.3), (26, 26, 0.3, 0.3), (26, 30, 0.5, 0.0), (26, 30, 0.0, 0.5), (26, 30, 0.1, 0.1)],
)
def test_two_way_interval_covers(rows, columns, row_share, column_share):
    data = two_way(1500, rows, columns, row_share, column_share, seed=rows + columns)
    templates, nouns = np.repeat(np.arange(rows), columns), np.tile(np.arange(columns), rows)
    results = [cluster_bootstrap(row, templates, second_clusters=nouns, seed=0) for row in data]
    low, high = np.array([[result.low, result.high] for result in results]).T
    assert NOMINAL[0] <= coverage(low, high) <= NOMINAL[1]


@pytest.mark.slow
@pytest.mark.parametrize("way", [1, 2])
def test_larger_coverage_study(way):
    if way == 1:
        for groups, size, correlation in [(40, 25, 0.3), (40, 25, 0.6), (100, 5, 0.3), (10, 25, 0.3)]:
            inside = []
            for seed in range(8):
                values = clustered(2500, groups, size, correlation, seed)
                totals = np.full((2500, groups), float(size))
                table = cluster_bootstrap_table(values.sum(axis=2), totals, resamples=2000, seed=seed)
                inside.append(coverage(table.low, table.high))
            assert 0.94 <= np.mean(inside) <= 0.965
    else:
        for shares in [(0.3, 0.3), (0.5, 0.0), (0.0, 0.5), (0.1, 0.1)]:
            data = two_way(10_000, 20, 26, *shares, seed=1)
            first, second = np.repeat(np.arange(20), 26), np.tile(np.arange(26), 20)
            results = [cluster_bootstrap(row, first, second_clusters=second, seed=0) for row in data]
            inside = np.mean([result.low <= 0 <= result.high for result in results])
            assert 0.94 <= inside <= 0.97


def test_standard_error_is_the_cluster_robust_one():
    import statsmodels.api as sm

    generator = np.random.default_rng(0)
    clusters = generator.integers(0, 12, size=200)
    values = generator.normal(size=200) + clusters / 5
    result = cluster_bootstrap(values, clusters, seed=0)
    fit = sm.OLS(values, np.ones(200)).fit(
        cov_type="cluster", cov_kwds={"groups": clusters, "use_correction": True}
    )
    # statsmodels also multiplies by (n - 1) / (n - 1) = 1 for a single coefficient
    assert result.estimate == pytest.approx(fit.params[0], rel=1e-12)
    assert result.standard_error == pytest.approx(fit.bse[0], rel=1e-12)
    assert (result.clusters, result.n) == (12, 200)


def test_two_way_standard_error_is_cameron_gelbach_millers():
    import statsmodels.api as sm
    from statsmodels.stats.sandwich_covariance import cov_cluster_2groups

    generator = np.random.default_rng(1)
    first, second = generator.integers(0, 9, size=300), generator.integers(0, 14, size=300)
    values = generator.normal(size=300) + 0.4 * first + 0.2 * second
    result = cluster_bootstrap(values, first, second_clusters=second, seed=0)
    fit = sm.OLS(values, np.ones(300)).fit()
    expected = cov_cluster_2groups(fit, first, second, use_correction=True)[0][0, 0]
    assert result.standard_error == pytest.approx(math.sqrt(expected), rel=1e-9)
    half = stdtrit(8, 0.975) * result.standard_error
    assert result.high - result.estimate == pytest.approx(half, rel=1e-12)


def test_studentised_quantile_equals_a_loop():
    generator = np.random.default_rng(2)
    sums, totals = generator.normal(size=7) * 3, generator.integers(1, 9, size=7).astype(float)
    table = cluster_bootstrap_table(sums, totals, resamples=400, seed=9)
    counts = resample_counts(7, 400, np.random.SeedSequence(9))
    estimate, ratios = sums.sum() / totals.sum(), []
    for count in counts:
        own = (count * sums).sum() / (count * totals).sum()
        scores = sums - own * totals
        error = math.sqrt(7 / 6 * (count * scores**2).sum()) / (count * totals).sum()
        ratios.append(abs(own - estimate) / error)
    half = np.quantile(ratios, 0.95) * table.standard_error[0]
    assert table.high[0] == pytest.approx(estimate + half, rel=1e-9)
    assert table.low[0] == pytest.approx(estimate - half, rel=1e-9)


def test_resamples_draw_as_many_clusters_as_there_are():
    counts = resample_counts(9, 5000, np.random.SeedSequence(0))
    assert (counts.sum(axis=1) == 9).all()
    np.testing.assert_allclose(counts.mean(axis=0), 1, atol=0.06)
    np.testing.assert_allclose(counts.var(axis=0), 8 / 9, atol=0.08)


def test_a_statistic_of_ones_own_agrees_with_the_mean():
    generator = np.random.default_rng(3)
    clusters = np.repeat(np.arange(30), 10)
    values = generator.normal(size=300) + np.repeat(generator.normal(size=30), 10)
    mean = cluster_bootstrap(values, clusters, seed=0)
    own = cluster_bootstrap(
        values, clusters, statistic=lambda v, w: (w * v).sum(axis=1) / w.sum(axis=1), resamples=4000, seed=0
    )
    assert own.estimate == pytest.approx(mean.estimate)
    assert own.standard_error == pytest.approx(mean.standard_error, rel=0.05)
    assert own.high - own.low == pytest.approx(mean.high - mean.low, rel=0.12)
    second = np.tile(np.arange(10), 30)
    mean = cluster_bootstrap(values, clusters, second_clusters=second, seed=0)
    own = cluster_bootstrap(
        values,
        clusters,
        second_clusters=second,
        statistic=lambda v, w: (w * v).sum(axis=1) / w.sum(axis=1),
        resamples=4000,
        seed=0,
    )
    assert own.standard_error == pytest.approx(mean.standard_error, rel=0.08)


def weighted_median(values, weights):
    order = np.argsort(values)
    running = np.cumsum(weights[:, order], axis=1)
    return values[order][(running >= running[:, -1:] / 2).argmax(axis=1)]


def test_a_median_covers():
    values = clustered(400, 40, 5, 0.3, seed=5).reshape(400, -1)
    clusters = np.repeat(np.arange(40), 5)
    results = [
        cluster_bootstrap(row, clusters, statistic=weighted_median, resamples=300, seed=0) for row in values
    ]
    inside = np.mean([result.low <= 0 <= result.high for result in results])
    assert 0.92 <= inside <= 0.985  # 400 data sets: two standard errors of the study are 2 points


def test_ratio_by_weights():
    numerators, denominators = np.array([2.0, 1.0, 4.0, 3.0]), np.array([4.0, 2.0, 5.0, 9.0])
    result = cluster_bootstrap(numerators / denominators, [0, 1, 2, 3], weights=denominators, seed=0)
    assert result.estimate == pytest.approx(10 / 20)
    table = cluster_bootstrap_table(numerators, denominators, seed=0)
    assert (result.low, result.high) == pytest.approx((table.low[0], table.high[0]))


def test_seeds_labels_and_order():
    generator = np.random.default_rng(6)
    values, clusters = generator.normal(size=60), np.repeat(np.arange(12), 5)
    one = cluster_bootstrap(values, clusters, seed=1)
    assert cluster_bootstrap(values, clusters, seed=1) == one
    other = cluster_bootstrap(values, clusters, seed=2)
    assert other.low != one.low
    assert other.low == pytest.approx(one.low, rel=0.2)
    names = np.array([f"template {code:02d}" for code in clusters])
    order = generator.permutation(60)
    shuffled = cluster_bootstrap(values[order], names[order], seed=1)
    assert shuffled.low == pytest.approx(one.low, rel=1e-9)


def test_missing_values_leave_with_their_cluster():
    values = [1.0, 2.0, float("nan"), 4.0, 5.0, float("nan")]
    result = cluster_bootstrap(values, ["a", "a", "b", "b", "c", "d"], seed=0)
    assert (result.n, result.clusters) == (4, 3)
    assert result == cluster_bootstrap([1.0, 2.0, 4.0, 5.0], ["a", "a", "b", "c"], seed=0)


def test_table_rows_with_missing_clusters():
    sums = [[1.0, 2.0, 3.0, 4.0], [1.0, float("nan"), 3.0, 7.0], [5.0, float("nan"), 1.0, 1.0], [0, 0, 0, 0]]
    totals = [[1, 1, 1, 1], [1, 3, 1, 1], [1, 0, 0, 0], [0, 0, 0, 0]]
    table = cluster_bootstrap_table(sums, totals, seed=0)
    np.testing.assert_array_equal(table.clusters, [4, 3, 1, 0])
    np.testing.assert_allclose(table.estimate, [2.5, 11 / 3, 5.0, np.nan])
    assert np.isfinite(table.low[:2]).all()
    assert np.isnan(table.low[2:]).all()


def test_no_variation_between_clusters_has_no_width():
    result = cluster_bootstrap([0.1] * 30, np.repeat(np.arange(10), 3), seed=0)
    assert (result.low, result.high, result.standard_error) == (result.estimate, result.estimate, 0.0)


def test_rare_outcomes_are_at_least_as_wide_as_students():
    values = np.zeros(40)
    values[0] = 1.0  # most resamples hold one or no positive cluster
    result = cluster_bootstrap(values, np.arange(40), seed=0)
    assert math.isfinite(result.high)
    assert result.high - result.estimate >= stdtrit(39, 0.975) * result.standard_error * (1 - 1e-12)
    clipped = cluster_bootstrap(values, np.arange(40), bounds=(0.0, 1.0), seed=0)
    assert (clipped.low, clipped.high) == (0.0, result.high)


def test_too_few_clusters_and_wrong_shapes():
    one = cluster_bootstrap([1.0, 3.0], ["a", "a"], seed=0)
    assert (one.estimate, one.clusters) == (2.0, 1)
    assert math.isnan(one.low)
    none = cluster_bootstrap([float("nan")], ["a"], seed=0)
    assert math.isnan(none.estimate)
    assert none.n == 0
    with pytest.raises(UsageError, match="different shapes"):
        cluster_bootstrap([1.0, 2.0], ["a"], seed=0)
    with pytest.raises(UsageError, match="one is negative"):
        cluster_bootstrap([1.0, 2.0], ["a", "b"], weights=[1, -1], seed=0)
    with pytest.raises(UsageError, match=r"cluster_bootstrap: level must be between 0 and 1, got 95"):
        cluster_bootstrap([1.0, 2.0], ["a", "b"], level=95, seed=0)
    with pytest.raises(UsageError, match=r"\(rows, clusters\)"):
        cluster_bootstrap_table([1.0, 2.0], [1.0], seed=0)


def test_paired_difference_is_tighter_than_its_parts():
    generator = np.random.default_rng(7)
    prompts = np.repeat(np.arange(30), 4)
    difficulty = np.repeat(generator.normal(size=30) * 3, 4)
    first, second = difficulty + generator.normal(size=120) + 0.8, difficulty + generator.normal(size=120)
    difference = difference_bootstrap(first, second, prompts, seed=0)
    alone = cluster_bootstrap(first, prompts, seed=0)
    assert difference.estimate == pytest.approx((first - second).mean())
    assert difference.high - difference.low < (alone.high - alone.low) / 3
    assert difference.low > 0
    with pytest.raises(UsageError, match="Paired values must have the same"):
        difference_bootstrap([1.0], [1.0, 2.0], [0], seed=0)


def test_sums_give_the_delta_method_s_error_of_a_ratio_and_cover():
    draw = np.random.default_rng(5)
    covered = 0
    for trial in range(200):
        size = draw.exponential(size=40) + 0.5
        part = 0.3 * size + 0.2 * draw.standard_normal(40)
        result = sums_bootstrap(
            np.stack([part, size], axis=1),
            np.arange(40),
            lambda s: s[..., :1] / s[..., 1:],
            resamples=400,
            seed=trial,
        )
        covered += result.low[0] <= 0.3 <= result.high[0]
    residuals = part - result.estimate[0] * size
    delta = math.sqrt(40 / 39 * np.square(residuals).sum()) / size.sum()
    assert result.standard_error[0] == pytest.approx(delta, rel=0.15)
    assert 0.91 <= covered / 200 <= 0.99


def test_sums_are_resampled_by_cluster_and_side_by_side():
    draw = np.random.default_rng(6)
    one, codes = draw.standard_normal((60, 1)), np.repeat(np.arange(20), 3)
    shared = np.repeat(draw.standard_normal((20, 1)), 3, axis=0) * 3 + one
    ones = np.ones((60, 1))

    def mean(s):
        return s[..., :1] / s[..., 1:2]

    alone = sums_bootstrap(np.hstack([shared, ones]), np.arange(60), mean, seed=0)
    together = sums_bootstrap(np.hstack([shared, ones]), codes, mean, seed=0)
    assert together.standard_error[0] > 1.4 * alone.standard_error[0]
    # a difference of two that move together is known far better than either
    paired = sums_bootstrap(
        np.hstack([shared, ones, shared + 0.1 * one]),
        codes,
        lambda s: (s[..., 2:] - s[..., :1]) / s[..., 1:2],
        seed=0,
    )
    assert paired.standard_error[0] < 0.1 * together.standard_error[0]
    single = sums_bootstrap(np.hstack([shared, ones]), np.zeros(60), mean, seed=0)
    assert np.isnan(single.low[0]) and single.clusters[0] == 1
    with pytest.raises(UsageError, match="shape"):
        sums_bootstrap([[1.0]], [0, 1], mean, seed=0)


def test_the_jackknife_of_a_mean_is_its_standard_error():
    values = np.random.default_rng(7).standard_normal(25)
    others = (values.sum() - values) / 24
    result = jackknife([values.mean()], others[:, None])
    assert result.standard_error[0] == pytest.approx(values.std(ddof=1) / 5)
    assert result.high[0] - result.estimate[0] == pytest.approx(stdtrit(24, 0.975) * values.std(ddof=1) / 5)
    assert np.isnan(jackknife([1.0], [[1.0]]).low[0])
