"""Male and female nouns: permutations against brute force, tiny designs, unusual nouns, planted and absent effects."""

from itertools import combinations

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom, t as t_distribution

from evenhand.measures import noun_contrast
from evenhand.schema import DataError, UsageError


def _frame(
    rng: np.random.Generator,
    shift: float = 0.0,
    rates: tuple[float, ...] = (0.1, 0.2, 0.4),
    templates: int = 10,
    nouns: int = 11,
) -> pl.DataFrame:
    """Each descriptor in each template with `nouns` male and one more female noun; men get `shift` more."""
    shape = (len(rates), templates, 2 * nouns + 1)
    descriptor, template, noun = np.indices(shape).reshape(3, -1)
    male = noun < nouns
    chance = np.array(rates)[descriptor] + shift * male
    return pl.DataFrame(
        {
            "axis": ["age" if d == 0 else "race" for d in descriptor],
            "bucket": [f"b{d}" for d in descriptor],
            "descriptor": [f"d{d}" for d in descriptor],
            "template": [f"t{t}" for t in template],
            "noun": [f"n{n}" for n in noun],
            "gender": np.where(male, "male", "female"),
            "negative": rng.random(len(chance)) < chance,
        }
    )


def _nouns(rng: np.random.Generator, each: int, spread: float, gap: float = 0.0) -> pl.DataFrame:
    """`each` male and female nouns, logits `spread` apart, men `gap` more; eight descriptors in five templates."""
    shape = (8, 5, 2 * each)
    descriptor, template, noun = np.indices(shape).reshape(3, -1)
    logit = -1.4 + rng.normal(0, spread, 2 * each)[noun] + gap * (noun < each)
    logit += rng.normal(0, 0.6, 8)[descriptor] + rng.normal(0, 0.6, 5)[template]
    return pl.DataFrame(
        {
            "descriptor": [f"d{d}" for d in descriptor],
            "template": [f"t{t}" for t in template],
            "noun": [f"n{n}" for n in noun],
            "gender": np.where(noun < each, "male", "female"),
            "negative": rng.random(len(logit)) < 1 / (1 + np.exp(-logit)),
        }
    )


def test_p_is_that_of_all_deals_of_nouns() -> None:
    frame = _nouns(np.random.default_rng(0), 4, 0.5, gap=1.0)
    x = frame.group_by("noun").agg(pl.col("negative").mean()).sort("noun")["negative"].to_numpy()
    deals = np.array([list(chosen) for chosen in combinations(range(8), 4)])
    differences = x[deals].mean(axis=1) * 2 - x.sum() / 4
    row = noun_contrast(frame).contrasts.row(0, named=True)
    observed = row["estimate"] / 100
    assert observed == pytest.approx(x[:4].mean() - x[4:].mean())
    assert row["male"] - row["female"] == pytest.approx(row["estimate"])
    dealt = np.mean(np.abs(differences) >= abs(observed) - 1e-9)
    spread = (x[:4].var(ddof=1) + x[4:].var(ddof=1)) / 4
    pooled = 2 * t_distribution.sf(abs(observed) / spread**0.5, 6)
    assert row["p"] == pytest.approx(max(dealt, pooled), rel=0.02)
    assert (row["n_male"], row["n_female"], row["test"]) == (4, 4, "permutation of nouns between genders")


def test_nouns_that_differ_are_no_gender() -> None:
    # issue, point 2: nouns taken as fixed were false in 20-40 %
    rng = np.random.default_rng(1)
    rows = [noun_contrast(_nouns(rng, 6, 0.5)).contrasts.row(0, named=True) for _ in range(80)]
    assert np.sum([row["p"] <= 0.05 for row in rows]) <= binom.ppf(0.99, 80, 0.05)
    assert np.mean([row["low"] <= 0 <= row["high"] for row in rows]) == np.mean(
        [row["p"] > 0.05 for row in rows]
    )


def test_a_gender_is_found_beside_nouns_that_differ() -> None:
    rng = np.random.default_rng(2)
    found = [noun_contrast(_nouns(rng, 6, 0.5, gap=1.2)).contrasts["p"][0] <= 0.05 for _ in range(30)]
    assert np.mean(found) > 0.6


def test_nouns_too_few_for_a_permutation_are_not_measurable() -> None:
    frame = _nouns(np.random.default_rng(3), 3, 0.2, gap=2.5)
    row = noun_contrast(frame).contrasts.row(0, named=True)
    assert (row["p"], row["low"], row["minimum_detectable"], row["test"]) == (None,) * 4
    assert "smallest possible p is 0.1." in row["obstacle"]  # 2 of 20 permutations
    assert "At least 4 nouns of each gender are needed." in row["obstacle"]
    at_many_axes = noun_contrast(_nouns(np.random.default_rng(3), 4, 0.2), level=0.05 / 13).contrasts
    assert (
        "At least 6 nouns of each gender" in at_many_axes["obstacle"][0]
    )  # 2 of 70 is above .0038, 2 of 924 below
    alone = noun_contrast(frame.filter(~pl.col("noun").is_in(["n1", "n2"]))).contrasts.row(0, named=True)
    assert alone["p"] is None and "one male noun" in alone["obstacle"] and alone["n_units"] == 1


@pytest.mark.parametrize(
    ("each", "prompts", "rate"), [(2, 2, 0.3), (2, 2, 0.1), (2, 4, 0.3), (4, 1, 0.3), (4, 2, 0.1)]
)
def test_tiny_null_designs_give_no_false_positive(each: int, prompts: int, rate: float) -> None:
    # Two nouns with equal rates used to give p = 0 by Welch's t: 5.5 to 8 % of null data sets were called biased.
    rng = np.random.default_rng(11)
    frame = pl.DataFrame(
        {
            "descriptor": ["d"] * (2 * each * prompts),
            "template": [f"t{t}" for t in range(prompts)] * (2 * each),
            "noun": np.repeat([f"n{n}" for n in range(2 * each)], prompts),
            "gender": np.repeat(["male", "female"], each * prompts),
        }
    )
    rows = [
        noun_contrast(frame.with_columns(negative=pl.Series(rng.random(frame.height) < rate))).contrasts.row(
            0, named=True
        )
        for _ in range(120)
    ]
    tested = [row for row in rows if row["p"] is not None]
    assert np.sum([row["p"] <= 0.05 for row in tested]) <= binom.ppf(0.99, 120, 0.05)
    assert all(row["p"] > 0 and row["high"] > row["low"] for row in tested)
    assert not tested if each == 2 else tested


def test_constant_rates_within_genders_give_an_interval_of_binomial_width() -> None:
    nouns = [(f"m{i}", "male", True) for i in range(8)] + [(f"f{i}", "female", False) for i in range(8)]
    frame = pl.DataFrame(
        [
            {"descriptor": "d", "noun": noun, "gender": gender, "negative": negative}
            for noun, gender, negative in nouns
        ]
    )
    row = noun_contrast(frame).contrasts.row(0, named=True)
    z = 1.959964
    wilson = z**2 / (8 + z**2)  # the Wilson limit of 0 of 8; Newcombe joins both sides
    assert row["low"] == pytest.approx(100 - 100 * wilson * 2**0.5, abs=1e-3)
    assert row["high"] == pytest.approx(100.0)
    assert row["p"] >= 2 / 12870 and row["minimum_detectable"] > 0  # 2 of comb(16, 8) permutations


def test_a_planted_difference_is_found_on_its_side() -> None:
    contrasts = noun_contrast(_frame(np.random.default_rng(2), shift=0.15)).contrasts
    whole = contrasts.row(0, named=True)
    assert whole["p"] < 0.01 and whole["low"] > 0 and abs(whole["estimate"] - 15) < 6
    assert whole["relative"] == pytest.approx(200 * whole["estimate"] / (whole["male"] + whole["female"]))
    assert contrasts.select("axis", "bucket").rows()[:4] == [
        (None, None),
        ("age", None),
        ("race", None),
        ("age", "b0"),
    ]
    assert contrasts["n_descriptors"].to_list() == [3, 1, 2, 1, 1, 1]
    flipped = noun_contrast(_frame(np.random.default_rng(2), shift=-0.08)).contrasts
    assert flipped["estimate"][0] < 0 and flipped["high"][0] < 0


def test_descriptors_that_only_one_gender_has_cannot_make_a_difference() -> None:
    frame = _frame(np.random.default_rng(4), rates=(0.2, 0.2))
    biased = pl.DataFrame(
        {"axis": "age", "bucket": "b0", "descriptor": "d9", "template": "t0", "noun": "n0", "gender": "male"}
    ).select(pl.all().repeat_by(50).explode(), negative=pl.lit(True))
    row = noun_contrast(pl.concat([frame, biased])).contrasts.row(0, named=True)
    assert row["estimate"] == noun_contrast(frame).contrasts["estimate"][0] and row["n_unpaired"] == 50


def test_samples_are_averaged_by_prompt_and_missing_ones_counted() -> None:
    once = _frame(np.random.default_rng(5), shift=0.2).with_row_index("prompt_id")
    twice = pl.concat([once, once])
    same = [noun_contrast(frame).contrasts.row(0, named=True) for frame in (once, twice)]
    for column in ("estimate", "low", "high", "p"):
        assert same[0][column] == same[1][column]
    assert same[1]["n"] == 2 * same[0]["n"]
    neutral = once.head(40).with_columns(gender=pl.lit("neutral"))
    holes = pl.concat(
        [once.with_columns(negative=pl.when(pl.col("prompt_id") >= 7).then("negative")), neutral]
    )
    assert noun_contrast(holes).contrasts.select("n", "n_missing").row(0) == (once.height - 7, 7)


def test_the_smallest_detectable_difference_is_found_four_times_in_five() -> None:
    rng = np.random.default_rng(7)
    base = [noun_contrast(_frame(rng, rates=(0.45,))).contrasts["minimum_detectable"][0] for _ in range(9)]
    reach = float(np.median(base))
    found = [
        noun_contrast(_frame(rng, shift=reach / 100, rates=(0.45,))).contrasts["p"][0] <= 0.05
        for _ in range(60)
    ]
    assert 0.65 < np.mean(found) < 0.92


def test_a_model_without_negatives_has_nothing_to_compare() -> None:
    silent = noun_contrast(_frame(np.random.default_rng(6), rates=(0.0,))).contrasts.row(0, named=True)
    assert (silent["estimate"], silent["p"], silent["relative"]) == (0.0, None, None)
    assert "no variation to test" in silent["obstacle"]


def test_bad_calls_are_refused() -> None:
    frame = _frame(np.random.default_rng(7))
    with pytest.raises(DataError, match="needs the column gender"):
        noun_contrast(frame.drop("gender"))
    with pytest.raises(UsageError, match=r"level must be .* got 0"):
        noun_contrast(frame, level=0)


@pytest.mark.parametrize(("male", "female"), [(2, 40), (3, 12), (20, 3)])
def test_few_nouns_of_one_gender_are_not_measurable_however_many_the_other_has(male, female) -> None:
    """Two nouns that differ, next to 40 that do not: called biased in 10 % of null data sets."""
    rng = np.random.default_rng(5)
    noun = np.repeat(np.arange(male + female), 8)
    frame = pl.DataFrame(
        {
            "descriptor": "d",
            "template": np.tile([f"t{t}" for t in range(8)], male + female),
            "noun": [f"n{n}" for n in noun],
            "gender": np.where(noun < male, "male", "female"),
            "negative": rng.random(len(noun)) < np.clip(0.3 + 0.25 * (noun < male) * rng.normal(), 0, 1),
        }
    )
    row = noun_contrast(frame).contrasts.row(0, named=True)
    assert row["p"] is row["low"] is row["minimum_detectable"] is None
    fewer, which = (male, "male") if male < female else (female, "female")
    assert f"{fewer} are too few to show how much {which} nouns differ" in row["obstacle"]
    assert "At least 4 nouns of each gender are needed." in row["obstacle"]


@pytest.mark.slow
@pytest.mark.parametrize(("male", "female"), [(4, 40), (4, 12), (6, 40)])
def test_few_nouns_that_scatter_more_are_called_biased_no_more_often(male, female) -> None:
    rng, found = np.random.default_rng(12), 0
    noun = np.repeat(np.arange(male + female), 8)
    for _ in range(200):
        rate = np.clip(0.3 + 0.25 * rng.normal(size=male + female) * (np.arange(male + female) < male), 0, 1)
        frame = pl.DataFrame(
            {
                "descriptor": "d",
                "template": np.tile([f"t{t}" for t in range(8)], male + female),
                "noun": [f"n{n}" for n in noun],
                "gender": np.where(noun < male, "male", "female"),
                "negative": rng.random(len(noun)) < rate[noun],
            }
        )
        found += noun_contrast(frame).contrasts["p"][0] <= 0.05
    assert found <= binom.ppf(0.99, 200, 0.06)
