"""Offensiveness against plain means, the formula for true spread, planted descriptors, and nothing at all."""

import numpy as np
import polars as pl
import pytest

from evenhand.measures import offensiveness
from evenhand.schema import DataError, UsageError


def _frame(
    rng: np.random.Generator,
    effects: np.ndarray,
    templates: int = 12,
    replies: int = 4,
    noise: float = 0.08,
) -> pl.DataFrame:
    """Templates differ widely; each descriptor is as far above them as its effect."""
    shape = (len(effects), templates, replies)
    descriptor, template, _ = np.indices(shape).reshape(3, -1)
    level = np.linspace(0.2, 0.7, templates)[template]
    score = np.clip(level + effects[descriptor] + rng.normal(0, noise, len(level)), 0, 1)
    return pl.DataFrame(
        {
            "axis": ["age" if d % 2 else "race" for d in descriptor],
            "descriptor": [f"d{d:02}" for d in descriptor],
            "template": [f"t{t:02}" for t in template],
            "score": score,
        }
    )


def test_tables_are_plain_means() -> None:
    frame = _frame(np.random.default_rng(0), np.linspace(-0.1, 0.1, 6))
    result = offensiveness(frame, draws=9)
    for row in result.descriptors.iter_rows(named=True):
        mine = frame.filter(descriptor=row["descriptor"])["score"]
        assert (row["estimate"], row["sd"], row["least"], row["most"]) == pytest.approx(
            (mine.mean(), mine.std(), mine.min(), mine.max())
        )
        assert row["offensive"] == pytest.approx(100 * (mine >= 0.5).mean())
        assert row["offensive_low"] <= row["offensive"] <= row["offensive_high"]
    assert result.descriptors["estimate"].is_sorted(descending=True)
    for row in result.templates.iter_rows(named=True):
        means = (
            frame.filter(template=row["template"])
            .group_by("descriptor")
            .agg(pl.col("score").mean())
            .sort("score")
        )
        assert (row["estimate"], row["sd"]) == pytest.approx((means["score"].mean(), means["score"].std()))
        assert (row["least_descriptor"], row["most_descriptor"]) == (
            means["descriptor"][0],
            means["descriptor"][-1],
        )
        assert row["n_descriptors"] == 6 and row["true_sd"] <= row["sd"]


def test_excess_is_within_axis_and_template() -> None:
    frame = _frame(np.random.default_rng(1), np.array([0.0, 0.0, 0.15, 0.0, 0.0, 0.0]))
    # a descriptor that was asked only in mild templates is not thereby mild
    frame = frame.filter(~((pl.col("descriptor") == "d01") & (pl.col("template") > "t03")))
    table = {
        row["descriptor"]: row for row in offensiveness(frame, draws=9).descriptors.iter_rows(named=True)
    }
    # d02 is one of three of its axis: two thirds of its effect remain above their mean
    assert table["d02"]["excess"] == pytest.approx(0.1, abs=0.02) and table["d02"]["q"] < 1e-6
    assert table["d01"]["estimate"] < 0.35 < table["d03"]["estimate"]
    assert abs(table["d01"]["excess"]) < 0.05 and table["d01"]["n_templates"] == 4
    assert table["d02"]["excess_low"] > 0.05


def test_true_spread_is_without_noise() -> None:
    rng = np.random.default_rng(2)
    effects = rng.normal(0, 0.06, 30)
    effects -= effects.mean()
    few = offensiveness(_frame(rng, effects, replies=2, noise=0.1), draws=19).spread.row(0, named=True)
    truth = effects.std(ddof=1)
    assert few["estimate"] == pytest.approx(truth, rel=0.15) and few["published"] > 1.3 * truth
    assert few["low"] < truth < few["high"] and few["p"] == 0.05 and few["excess"] > 0.01
    assert few["published"] ** 2 - few["estimate"] ** 2 == pytest.approx(0.1**2 / 2, rel=0.2)


def test_without_difference_nothing_is_found() -> None:
    rng = np.random.default_rng(3)
    spread_p, p = [], []
    for _ in range(14):
        result = offensiveness(_frame(rng, np.zeros(6), templates=8, replies=2), draws=19)
        spread_p.append(result.spread["p"][0])
        p += result.descriptors["p"].to_list()
    assert np.mean(np.array(spread_p) <= 0.1) <= 0.3 and 0.28 < np.mean(spread_p) < 0.72
    assert np.mean(np.array(p) <= 0.05) <= 0.12


def test_the_smallest_detectable_excess_is_found_four_times_in_five() -> None:
    rng = np.random.default_rng(4)
    none = offensiveness(_frame(rng, np.zeros(20), replies=2), draws=1).descriptors
    reach = float(none["minimum_detectable"].median())
    effects = np.zeros(20)
    effects[0] = reach / (1 - 1 / 10)  # its axis has ten descriptors
    found = [
        offensiveness(_frame(rng, effects, replies=2), draws=1).descriptors.filter(descriptor="d00")["p"][0]
        <= 0.05
        for _ in range(14)
    ]
    assert np.mean(found) > 0.5


def test_missing_scores_are_counted_and_few_columns_suffice() -> None:
    frame = pl.DataFrame({"descriptor": ["old", "old", "odd", "odd"], "score": [0.2, None, 0.9, 0.7]})
    result = offensiveness(frame, draws=9)
    assert result.descriptors.select("descriptor", "estimate", "n", "n_missing").rows() == [
        ("odd", pytest.approx(0.8), 2, 0),
        ("old", 0.2, 1, 1),
    ]
    assert result.descriptors["low"].null_count() == 2 and result.descriptors["p"].null_count() == 2
    alone = offensiveness(frame.filter(descriptor="odd"), draws=9)
    assert alone.spread.is_empty() and alone.descriptors["excess"][0] is None


def test_bad_calls_are_refused() -> None:
    frame = _frame(np.random.default_rng(5), np.zeros(3))
    with pytest.raises(DataError, match="probability from 0 to 1"):
        offensiveness(frame.with_columns(score=pl.lit(3.0)))
    with pytest.raises(UsageError, match="threshold=0"):
        offensiveness(frame, threshold=0)
    with pytest.raises(DataError, match="missing in all rows"):
        offensiveness(frame.with_columns(score=pl.lit(None, pl.Float64)))
    with pytest.raises(DataError, match="rows without descriptor"):
        offensiveness(frame.with_columns(descriptor=pl.lit(None, pl.String)))
