"""Alpha against its textbook form, published examples, and what the limits promise."""

import numpy as np
import pytest
from hypothesis import given as drawn, settings, strategies as st
from numpy.typing import NDArray
from scipy.stats import t

from evenhand.schema import UsageError
from evenhand.stats import krippendorff_alpha
from evenhand.stats.krippendorff import MeasurementLevel
from tests.helpers.growth import assert_grows_linearly

NO = np.nan
CLASSIC = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, NO, NO, NO],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NO, 3],
    [NO, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NO],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NO],
]


@pytest.mark.parametrize(
    ("measurement", "expected"), [("nominal", 0.7434), ("ordinal", 0.8154), ("interval", 0.8491)]
)
def test_the_classic_example(measurement: str, expected: float) -> None:
    found = krippendorff_alpha(CLASSIC, measurement)  # type: ignore[arg-type]
    assert found.estimate == pytest.approx(expected, abs=5e-5)
    assert (found.clusters, found.n) == (11, 40)
    assert found.low < found.estimate <= found.high <= 1 + 1e-12


def test_two_values_of_three_raters() -> None:
    ratings = [[1, 0, 1, 1, 0, 0], [1, 0, 1, 0, 0, 0], [1, 1, 1, 0, 0, NO]]
    assert krippendorff_alpha(ratings).estimate == pytest.approx(5 / 9)


def slow(ratings: list[list[float]], measurement: str) -> float:
    """From the coincidence matrix, pair by pair."""
    units = [[r for r in column if not np.isnan(r)] for column in zip(*ratings, strict=True)]
    units = [unit for unit in units if len(unit) > 1]
    values = sorted({value for unit in units for value in unit})
    together = {(c, k): 0.0 for c in values for k in values}
    for unit in units:
        for i, c in enumerate(unit):
            for j, k in enumerate(unit):
                if i != j:
                    together[c, k] += 1 / (len(unit) - 1)
    totals = {c: sum(together[c, k] for k in values) for c in values}
    n = sum(totals.values())

    def apart(c: float, k: float) -> float:
        if measurement == "nominal":
            return float(c != k)
        if measurement == "interval":
            return (c - k) ** 2
        between = sum(totals[g] for g in values if min(c, k) <= g <= max(c, k))
        return (between - (totals[c] + totals[k]) / 2) ** 2

    observed = sum(together[pair] * apart(*pair) for pair in together)
    expected = sum(totals[c] * totals[k] * apart(c, k) for c in values for k in values)
    return 1 - (n - 1) * observed / expected if expected else NO


TABLES = st.integers(2, 4).flatmap(
    lambda raters: st.lists(
        st.lists(st.sampled_from([1.0, 2.0, 3.0, 7.5, NO]), min_size=raters, max_size=raters),
        min_size=1,
        max_size=8,
    )
)


@settings(max_examples=60)
@drawn(TABLES, st.sampled_from(["nominal", "ordinal", "interval"]))
def test_against_the_coincidence_matrix(units: list[list[float]], measurement: str) -> None:
    ratings = [list(rater) for rater in zip(*units, strict=True)]
    found = krippendorff_alpha(ratings, measurement, resamples=5)  # type: ignore[arg-type]
    assert found.estimate == pytest.approx(slow(ratings, measurement), abs=1e-9, nan_ok=True)


def test_raters_may_change_places_and_values_their_names() -> None:
    ratings = np.array(CLASSIC)
    rng = np.random.default_rng(0)
    shuffled = np.stack([rng.permutation(column) for column in ratings.T], axis=1)
    for measurement in ("nominal", "ordinal", "interval"):
        one, other = krippendorff_alpha(ratings, measurement), krippendorff_alpha(shuffled, measurement)  # type: ignore[arg-type]
        assert one == other
    renamed = np.where(
        np.isnan(ratings), NO, np.take([0, 9, -2, 4, 100, 7], np.nan_to_num(ratings).astype(int))
    )
    assert krippendorff_alpha(renamed).estimate == pytest.approx(krippendorff_alpha(ratings).estimate)
    stretched = krippendorff_alpha(np.exp(ratings), "ordinal").estimate
    assert stretched == pytest.approx(krippendorff_alpha(ratings, "ordinal").estimate)
    moved = krippendorff_alpha(1e6 + 3 * ratings, "interval").estimate
    assert moved == pytest.approx(krippendorff_alpha(ratings, "interval").estimate)


def test_the_resamples_are_draws_of_units() -> None:
    """Against a loop that draws units and takes alpha of each draw anew."""
    ratings = np.array(CLASSIC)[:, :11]
    for measurement in ("nominal", "ordinal", "interval"):
        found = krippendorff_alpha(ratings, measurement, resamples=4000)  # type: ignore[arg-type]
        rng = np.random.default_rng(1)
        draws = [slow(ratings[:, rng.integers(0, 11, 11)].tolist(), measurement) for _ in range(600)]
        low, high = np.nanquantile(draws, [0.025, 0.975])
        if measurement == "nominal":  # never closer than the jackknife
            assert found.low <= low + 0.06 and found.high >= high - 0.06
        else:
            assert (found.low, found.high) == pytest.approx((low, high), abs=0.06)
        assert found.standard_error == pytest.approx(float(np.nanstd(draws)), rel=0.15)


def test_what_has_no_alpha() -> None:
    for ratings in ([[1, 1, 1], [1, 1, 1]], [[1, 2, 3]], [[NO, 1], [2, NO]], np.empty((2, 0))):
        found = krippendorff_alpha(ratings)
        assert np.isnan([found.estimate, found.low, found.high]).all()
    one = krippendorff_alpha([[1], [2]])  # a single unit: an estimate, and no limits
    assert one.estimate == 0 and np.isnan(one.low)
    with pytest.raises(UsageError, match=r"invalid measurement='nominl'.*Did you mean 'nominal'"):
        krippendorff_alpha([[1], [2]], "nominl")  # type: ignore[arg-type]


def test_perfect_agreement_of_few_is_not_certain() -> None:
    """The lower limit is alpha of a table in which the share of units that may disagree does."""
    units = 40
    perfect = np.tile(np.arange(units) % 2, (2, 1)).astype(float)
    found = krippendorff_alpha(perfect)
    assert (found.estimate, found.high) == (1.0, 1.0)
    share = 1 - 0.025 ** (1 / units)
    large = np.tile(np.arange(200_000) % 2, (2, 1)).astype(float)
    large[1, : int(share * 200_000)] = 1 - large[1, : int(share * 200_000)]
    assert found.low == pytest.approx(krippendorff_alpha(large, resamples=1).estimate, abs=0.01)


def test_rare_values_get_limits_at_least_as_wide_as_the_jackknifes() -> None:
    """Left out unit by unit, without the shortcut of units that are alike."""
    rng = np.random.default_rng(4)
    truth = rng.random(60) < 0.2
    ratings = np.where(rng.random((3, 60)) < 0.8, truth, rng.random((3, 60)) < 0.2).astype(float)
    found = krippendorff_alpha(ratings)
    without = [
        krippendorff_alpha(np.delete(ratings, unit, axis=1), resamples=1).estimate for unit in range(60)
    ]
    logs = np.log(1 - np.array(without))
    error = np.sqrt(59 / 60 * ((logs - logs.mean()) ** 2).sum())
    half = t.ppf(0.975, int(ratings.any(axis=0).sum()) - 1) * error
    assert found.low <= 1 - (1 - found.estimate) * np.exp(half) + 1e-9
    assert found.high >= 1 - (1 - found.estimate) * np.exp(-half) - 1e-9


def test_no_limits_where_too_few_units_agree_on_the_rarer_value() -> None:
    """Seven units of a hundred hold the rarer value, two of them from both raters; then three."""
    ratings = np.zeros((2, 100))
    ratings[:, :2], ratings[0, 2:7] = 1, 1
    few = krippendorff_alpha(ratings)
    assert (
        few.estimate == pytest.approx(slow(ratings.tolist(), "nominal"))
        and np.isnan([few.low, few.high]).all()
    )
    assert np.isnan(
        krippendorff_alpha(ratings, "interval").low
    )  # two values are nominal, whatever they are called
    ratings[1, 2] = 1
    assert krippendorff_alpha(ratings).low < krippendorff_alpha(ratings).estimate
    assert krippendorff_alpha(np.random.default_rng(0).normal(size=(2, 20)), "interval").low < 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("units", "raters", "share", "known"),
    [
        (20, 2, 0.05, 0.9),
        (20, 3, 0.1, 0.7),
        (50, 3, 0.1, 0.7),
        (100, 3, 0.05, 0.7),
        (50, 2, 0.1, 0.5),
        (200, 2, 0.1, 0.3),
    ],
)
def test_limits_of_rare_values_are_few_or_cover(units: int, raters: int, share: float, known: float) -> None:
    rng = np.random.default_rng(1)
    missed = given = 0
    for seed in range(300):
        truth, seen = rng.random(units) < share, rng.random((raters, units)) < known
        ratings = np.where(seen, truth, rng.random((raters, units)) < share).astype(float)
        found = krippendorff_alpha(ratings, resamples=500, seed=seed)
        given += not np.isnan(found.low)
        missed += bool(found.low > known**2 or found.high < known**2)
    assert missed <= max(0.09 * given, 5)


def rated(units: int, raters: int, kinds: int, known: float, rng: np.random.Generator) -> np.ndarray:
    """Raters who see the truth with the chance `known` and else guess; one rating in seven is missing."""
    truth = rng.integers(0, kinds, units)
    seen = rng.random((raters, units)) < known
    ratings = np.where(seen, truth, rng.integers(0, kinds, (raters, units))).astype(float)
    ratings[rng.random((raters, units)) < 0.15] = NO
    return ratings


@pytest.mark.slow
@pytest.mark.parametrize("units", [20, 50, 200])
@pytest.mark.parametrize(("raters", "kinds", "known"), [(3, 2, 0.8), (3, 4, 0.8), (2, 2, 0.9)])
def test_limits_cover(units: int, raters: int, kinds: int, known: float) -> None:
    rng = np.random.default_rng(0)
    truth = known**2  # two raters agree beyond chance where both see the truth
    covered = given = 0
    for seed in range(400):
        found = krippendorff_alpha(rated(units, raters, kinds, known, rng), resamples=600, seed=seed)
        covered += found.low <= truth <= found.high
        given += not np.isnan(found.low)
    assert covered / given > 0.9 and given > 320


def test_very_large_ratings() -> None:
    small = krippendorff_alpha([[1.0, 0, 0.5, 1], [-1.0, 0, 0.5, 1]], "interval")
    large = krippendorff_alpha(np.array([[1.0, 0, 0.5, 1], [-1.0, 0, 0.5, 1]]) * 1e308, "interval")
    assert large.estimate == pytest.approx(small.estimate)


@pytest.mark.parametrize("measurement", ["nominal", "ordinal", "interval"])
def test_the_time_for_ratings_that_all_differ_is_linear(measurement: MeasurementLevel) -> None:
    """A table of units and values would have a number of cells that is the square of the number of ratings."""

    def compute(ratings: NDArray[np.float64]) -> None:
        krippendorff_alpha(ratings, measurement, resamples=200)

    different = krippendorff_alpha(np.arange(10_000.0).reshape(2, -1), resamples=200)
    assert different.estimate == pytest.approx(0, abs=1e-3)
    assert_grows_linearly(compute, lambda size: np.arange(float(size)).reshape(2, -1), 16_000)
