"""Valence shift on planted worlds: what cancels must cancel, what is planted must be found."""

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from evenhand.measures import valence_shift
from evenhand.measures.likelihood.valence import _spread, _spread_interval
from evenhand.schema import DataError, UsageError

LOVE = ["I love X.", "X are the best.", "I admire X.", "X are kind.", "X make good friends.", "I trust X."]
HATE = ["I hate X.", "X are the worst.", "I despise X.", "X are cruel.", "X make bad friends.", "I fear X."]
PAIRS = len(LOVE)


def world(
    shift: NDArray[np.float64], *, nouns: int = 20, noise: float = 0.2, odd: float = 0.0, seed: int = 0
) -> pl.DataFrame:
    """log_likelihoods in which descriptor d is `shift[d]` nats more at home in LOVE than in HATE.

    odd: how much descriptors go oddly with single adjectives, whatever their valence (standard deviation).
    """
    rng = np.random.default_rng(seed)
    descriptors = len(shift)
    phrase = rng.normal(-12, 4, (1, nouns, descriptors))  # rarity and tokenisation of the noun phrase
    template = rng.normal(-10, 3, 2 * PAIRS)[:, None, None]
    taste = rng.normal(0, 0.5, (2 * PAIRS, nouns, 1))  # nouns differ in how they go with templates
    oddity = odd / np.sqrt(2) * rng.normal(0, 1, (2 * PAIRS, 1, descriptors))
    side = np.repeat([0.5, -0.5], PAIRS)[:, None, None]
    noises = rng.normal(0, noise, (2 * PAIRS, nouns, descriptors))
    values = phrase + template + taste + oddity + side * shift + noises
    t, n, d = (index.ravel() for index in np.indices(values.shape))
    templates = LOVE + HATE
    return pl.DataFrame(
        {
            "axis": ["religion"] * values.size,
            "template": [templates[i] for i in t],
            "noun": [f"n{i}" for i in n],
            "descriptor": [f"d{i:02}" for i in d],
            "log_likelihood": values.ravel(),
            "perplexity": np.exp(-values.ravel() / 8),
        }
    )


def measure(frame: pl.DataFrame, **options: int):  # type: ignore[no-untyped-def]
    return valence_shift(frame, positive=LOVE, negative=HATE, **{"margin": 0.0, **options})


def test_planted_shifts_are_recovered_relative_to_the_axis() -> None:
    shift = np.array([1.0, 0.0, 0.0, -0.5, 0.0, 0.0, 0.0, 0.0])
    result = measure(world(shift))
    rows = result.valence
    assert rows["shift"].to_list() == pytest.approx(list(shift - shift.mean()), abs=0.15)
    assert rows["q"][0] < 1e-5 and rows["q"][3] < 1e-4
    assert (rows["n"] == 20).all() and result.unit == "nats"
    assert result.axes["estimate"][0] == pytest.approx(np.std(shift, ddof=1), abs=0.08)
    assert result.axes["p"][0] < 0.002 and result.axes["low"][0] > 0.2


def test_exact_cancellation_without_noise() -> None:
    frame = world(np.array([0.3, 0.0, -0.3]), noise=0.0)
    rows = measure(frame).valence
    assert rows["shift"].to_list() == pytest.approx([0.3, 0.0, -0.3], abs=1e-9)


def test_rarity_and_tokenisation_cancel() -> None:
    frame = world(np.zeros(6))
    rarer = frame.with_columns(
        log_likelihood=pl.col("log_likelihood") - 30.0 * (pl.col("descriptor") == "d00").cast(pl.Float64)
    )
    assert measure(rarer).valence["shift"].to_list() == pytest.approx(
        measure(frame).valence["shift"].to_list()
    )


def test_no_shift_gives_uniform_p_and_covering_intervals() -> None:
    p, axis_p, covered = [], [], []
    for seed in range(40):
        result = measure(world(np.zeros(6), nouns=12, seed=seed), permutations=200, seed=seed)
        p += result.valence["p"].to_list()
        axis_p.append(result.axes["p"][0])
        covered.append(result.axes["low"][0] == 0.0)
    # with noise in single cells only, two-way errors are on the safe side
    assert np.mean(np.array(p) < 0.05) < 0.07
    assert 0.02 <= np.mean(np.array(axis_p) < 0.1) < 0.25
    assert np.mean(covered) > 0.9


def test_what_holds_for_one_adjective_only_is_not_valence() -> None:
    p, axis_p, naive = [], [], []
    for seed in range(60):
        frame = world(np.zeros(8), nouns=12, noise=0.05, odd=0.5, seed=seed)
        result = measure(frame, permutations=200, seed=seed)
        p += result.valence["p"].to_list()
        axis_p.append(result.axes["p"][0])
        one = valence_shift(frame, positive=LOVE[:1], negative=HATE[:1], margin=0.0, permutations=20)
        naive += one.valence["p"].to_list()
    assert 0.02 < np.mean(np.array(p) < 0.05) < 0.09
    assert 0.0 <= np.mean(np.array(axis_p) < 0.05) < 0.13
    assert np.mean(np.array(naive) < 0.05) > 0.8  # which is why one contrast is not enough
    real = measure(world(np.array([2.0] + [0.0] * 7), nouns=12, noise=0.05, odd=0.5))
    assert real.valence["q"][0] < 0.01
    assert real.axes["p"][0] < 0.01


def test_sides_of_unequal_size_make_one_contrast() -> None:
    frame = world(np.array([1.0, 0.0, 0.0, 0.0]), noise=0.1)
    result = valence_shift(frame, positive=LOVE[:3], negative=HATE[:2], margin=0.0)
    assert result.valence["shift"].to_list() == pytest.approx([0.75, -0.25, -0.25, -0.25], abs=0.1)
    assert result.valence["q"][0] < 1e-6


def test_interval_of_the_spread_covers_the_truth() -> None:
    rng = np.random.default_rng(5)
    true = rng.normal(0, 0.3, 15)
    true -= true.mean()
    spread = float(np.std(true, ddof=1))
    inside = []
    for _ in range(300):
        result = _spread(true + rng.normal(0, 1.0, (1, 12, 15)), rng, 1, 0.0)
        inside.append(result["low"] <= spread <= result["high"])
    assert 0.91 < np.mean(inside) < 0.985


def test_limits_of_the_spread_bracket_and_order() -> None:
    low, high = _spread_interval(1.0, 0.1, (9, 90))
    assert 0 < low < np.sqrt(0.9) < high
    assert _spread_interval(0.05, 0.1, (9, 90))[0] == 0.0
    assert _spread_interval(4.0, 1e-6, (9, 90)) == pytest.approx((2.0, 2.0), rel=1e-2)
    assert _spread_interval(1.1, 9.899e-4, (9, 90)) == pytest.approx(
        _spread_interval(1.1, 9.901e-4, (9, 90)), rel=1e-3
    )
    assert _spread_interval(0.01, 0.1, (9, 90)) == (0.0, 0.0)  # means closer together than noise allows


def test_a_noun_needs_all_its_templates() -> None:
    frame = world(np.zeros(4))
    gone = (pl.col("template") == LOVE[0]) & (pl.col("noun") == "n3") & (pl.col("descriptor") == "d01")
    for holed in (
        frame.filter(~gone),
        frame.with_columns(log_likelihood=pl.when(~gone).then("log_likelihood")),
    ):
        result = measure(holed)
        assert result.valence["n"].to_list() == [20, 19, 20, 20]
        assert result.axes["n"][0] == 2 * PAIRS * 79
    assert result.axes["n_missing"][0] == 1


def test_perplexity_is_used_where_there_is_no_likelihood() -> None:
    shift = np.array([0.8, 0.0, 0.0, -0.8])
    result = measure(world(shift).drop("log_likelihood"))
    assert result.unit == "nats per token"
    assert result.valence["shift"].to_list() == pytest.approx(list(shift / 8), abs=0.03)


def test_all_missing_gives_nulls() -> None:
    result = measure(world(np.zeros(3)).with_columns(log_likelihood=pl.lit(None, pl.Float64)))
    assert result.valence["shift"].null_count() == 3
    assert result.axes.row(0, named=True) | {"null": 0.0} == {
        "axis": "religion", "estimate": None, "low": None, "high": None, "null": 0.0, "p": None,
        "n": 0, "n_missing": 2 * PAIRS * 60,
    }  # fmt: skip


def test_bad_templates_are_named() -> None:
    with pytest.raises(DataError, match=r"'I adore X\.'"):
        valence_shift(world(np.zeros(2)), positive=["I adore X."], negative=HATE)
    with pytest.raises(UsageError, match="both sides"):
        valence_shift(world(np.zeros(2)), positive=LOVE, negative=[LOVE[0]])
    with pytest.raises(UsageError, match="0 negative"):
        valence_shift(world(np.zeros(2)), positive=LOVE, negative=[])


def test_spreads_inside_the_margin_are_not_flagged_and_larger_ones_are() -> None:
    pattern = np.array([1.0, -1.0] * 10)
    pattern /= np.std(pattern, ddof=1)
    found = {0.05: [], 0.1: [], 0.3: []}
    for size, flags in found.items():
        for seed in range(40):
            frame = world(size * pattern, noise=0.2, seed=seed)
            flags.append(measure(frame, margin=0.1, permutations=200).axes["p"][0] < 0.05)
    # a spread exactly at the margin is the edge of the hypothesis: rejected about as often as alpha says
    assert np.mean(found[0.05]) == 0.0
    assert np.mean(found[0.1]) <= 0.15
    assert np.mean(found[0.3]) == 1.0


def test_exactly_known_spreads_are_compared_with_the_margin() -> None:
    frame = world(np.array([0.3, 0.0, -0.3]), noise=0.0)
    assert measure(frame, margin=0.2).valence["p"][0] < 1e-6
    assert measure(frame, margin=0.4).valence["p"][0] == 1.0
    assert measure(frame, margin=0.5).axes["p"][0] == 1.0
