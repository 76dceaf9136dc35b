"""Male beside female nouns: the exact test against brute force and statsmodels, planted and absent differences."""

from itertools import combinations

import numpy as np
import polars as pl
import pytest

from evenhand.measures import noun_contrast
from evenhand.measures.rates.noun_contrast import _conditional_test, _Side
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
            "gender": np.where(male, "male", "female"),
            "negative": rng.random(len(chance)) < chance,
        }
    )


def test_p_is_that_of_all_deals() -> None:
    cells = [([1, 1, 0], [0, 0]), ([1, 0], [1, 0, 0]), ([1], [0, 0, 1])]
    rows = [
        {"descriptor": f"d{place}", "gender": gender, "negative": y}
        for place, cell in enumerate(cells)
        for gender, values in zip(("male", "female"), cell, strict=True)
        for y in values
    ]
    deals = [0.0]
    chances = [1.0]
    for male, female in cells:
        both = np.array(male + female)
        sums = [both[list(chosen)].sum() for chosen in combinations(range(len(both)), len(male))]
        deals, chances = (
            [deal + s for deal in deals for s in sums],
            [chance / len(sums) for chance in chances for _ in sums],
        )
    expected = float(np.dot(deals, chances))
    observed = sum(sum(male) for male, _ in cells)
    far = np.abs(np.array(deals) - expected) >= abs(observed - expected) - 1e-9
    row = noun_contrast(pl.DataFrame(rows)).contrasts.row(0, named=True)
    assert row["p"] == pytest.approx(float(np.array(chances)[far].sum()), rel=1e-9)
    weights = [len(m) * len(f) / (len(m) + len(f)) for m, f in cells]
    by_hand = np.average([np.mean(m) - np.mean(f) for m, f in cells], weights=weights)
    assert row["estimate"] == pytest.approx(100 * by_hand)
    assert row["male"] - row["female"] == pytest.approx(row["estimate"])


def test_large_tables_are_mantel_and_haenszel_s() -> None:
    from statsmodels.stats.contingency_tables import StratifiedTable

    frame = _frame(np.random.default_rng(0), shift=0.03, templates=60)
    counted = frame.group_by("descriptor", "template", "gender").agg(k=pl.col("negative").sum(), n=pl.len())
    tables = []
    for part in counted.partition_by("descriptor", "template"):
        male, female = part.filter(gender="male").row(0), part.filter(gender="female").row(0)
        tables.append([[male[3], male[4] - male[3]], [female[3], female[4] - female[3]]])
    theirs = StratifiedTable([np.array(table, dtype=float) for table in tables])
    p = noun_contrast(frame).contrasts["p"][0]
    assert p == pytest.approx(theirs.test_null_odds(correction=True).pvalue, rel=1e-6)


def test_exact_and_normal_agree_where_both_can_be_had() -> None:
    rng = np.random.default_rng(1)
    n = np.full(60, 12.0)
    male, female = (rng.binomial(12, 0.25, 60).astype(float) for _ in range(2))
    sides = [_Side(n, sums, sums) for sums in (male, female)]
    exact, deviation = _conditional_test(*sides, True)
    distance = abs(male.sum() - (male + female).sum() / 2) - 0.5
    from scipy.stats import norm

    assert exact == pytest.approx(2 * norm.sf(distance / deviation), abs=0.01)


def test_a_planted_difference_is_found_on_its_side() -> None:
    contrasts = noun_contrast(_frame(np.random.default_rng(2), shift=0.15)).contrasts
    whole = contrasts.row(0, named=True)
    assert whole["p"] < 1e-3 and whole["low"] > 0 and abs(whole["estimate"] - 15) < 6
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


def test_without_difference_p_and_limits_hold() -> None:
    rng = np.random.default_rng(3)
    rows = [
        noun_contrast(_frame(rng, rates=(0.05, 0.3), templates=5)).contrasts.row(0, named=True)
        for _ in range(80)
    ]
    assert np.mean([row["p"] <= 0.05 for row in rows]) <= 0.1
    assert np.mean([row["low"] <= 0 <= row["high"] for row in rows]) > 0.91
    assert abs(np.mean([row["estimate"] for row in rows])) < 1


def test_descriptors_that_only_one_gender_has_cannot_make_a_difference() -> None:
    frame = _frame(np.random.default_rng(4), rates=(0.2, 0.2))
    biased = pl.DataFrame(
        {"axis": "age", "bucket": "b0", "descriptor": "d9", "template": "t0", "gender": "male"}
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


def test_smallest_detectable_difference_and_nothing_at_all() -> None:
    rng = np.random.default_rng(6)
    reach = noun_contrast(_frame(rng, rates=(0.3, 0.3))).contrasts["minimum_detectable"][0]
    found = [
        noun_contrast(_frame(rng, shift=reach / 100, rates=(0.3, 0.3))).contrasts["p"][0] <= 0.05
        for _ in range(80)
    ]
    assert 0.65 < np.mean(found) < 0.92
    silent = noun_contrast(_frame(rng, rates=(0.0,))).contrasts.row(0, named=True)
    assert (silent["estimate"], silent["p"], silent["relative"]) == (0.0, 1.0, None)
    assert silent["low"] < 0 < silent["high"]


def test_bad_calls_are_refused() -> None:
    frame = _frame(np.random.default_rng(7))
    with pytest.raises(DataError, match="needs the column gender"):
        noun_contrast(frame.drop("gender"))
    with pytest.raises(UsageError, match="alpha=0"):
        noun_contrast(frame, alpha=0)
