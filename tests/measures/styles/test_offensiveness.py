"""Offensiveness against plain means, planted descriptors, and false ones by samples, nouns and templates."""

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom

from evenhand.measures import offensiveness
from evenhand.schema import DataError, UsageError
from evenhand.stats import benjamini_hochberg


def _frame(
    rng: np.random.Generator,
    effects: np.ndarray,
    templates: int = 12,
    replies: int = 4,
    noise: float = 0.08,
) -> pl.DataFrame:
    """Templates differ widely, nouns a little; each descriptor is as far above them as its effect."""
    shape = (len(effects), templates, replies)
    descriptor, template, noun = np.indices(shape).reshape(3, -1)
    level = np.linspace(0.2, 0.7, templates)[template] + np.linspace(0.0, 0.1, replies)[noun]
    score = np.clip(level + effects[descriptor] + rng.normal(0, noise, len(level)), 0, 1)
    return pl.DataFrame(
        {
            "axis": ["age" if d % 2 else "race" for d in descriptor],
            "descriptor": [f"d{d:02}" for d in descriptor],
            "template": [f"t{t:02}" for t in template],
            "noun": [f"n{n}" for n in noun],
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
        assert row["n_descriptors"] == 6
    assert (result.templates["true_sd"] < result.templates["sd"]).mean() > 0.7


def test_excess_is_within_axis_and_template() -> None:
    frame = _frame(np.random.default_rng(1), np.array([0.0, 0.0, 0.15, 0.0, 0.0, 0.0]))
    # a descriptor that was asked only in mild templates is not thereby mild
    frame = frame.filter(~((pl.col("descriptor") == "d01") & (pl.col("template") > "t03")))
    table = {
        row["descriptor"]: row for row in offensiveness(frame, draws=9).descriptors.iter_rows(named=True)
    }
    assert table["d02"]["excess"] == pytest.approx(0.15, abs=0.02) and table["d02"]["p"] < 0.01
    assert (
        table["d02"]["excess_low"] > 0.1
        and table["d02"]["axis_p"] < 0.01
        and table["d02"]["obstacle"] is None
    )
    assert table["d01"]["estimate"] < 0.35 < table["d03"]["estimate"]
    assert abs(table["d01"]["excess"]) < 0.05 and table["d01"]["n_templates"] == 4
    assert table["d01"]["p"] is None and "other templates" in table["d01"]["obstacle"]
    assert table["d03"]["excess"] == pytest.approx(
        -table["d05"]["excess"]
    )  # the two that are left of their axis


def test_true_spread_is_without_noise() -> None:
    rng = np.random.default_rng(2)
    effects = rng.normal(0, 0.06, 30)
    effects -= effects.mean()
    few = offensiveness(_frame(rng, effects, replies=2, noise=0.1), draws=19).spread.row(0, named=True)
    truth = effects.std(ddof=1)
    assert few["estimate"] == pytest.approx(truth, rel=0.15) and few["published"] > 1.3 * truth
    assert few["low"] < truth < few["high"] and few["p"] < 1e-6
    assert 0 < few["minimum_detectable"] < truth and few["published"] > few["null_high"]


def _clustered(
    rng: np.random.Generator, *, samples: int = 1, template: float = 0.0, noun: float = 0.0, own: float = 0.0
) -> pl.DataFrame:
    """Eight descriptors of one axis, eight templates, five nouns; prompts, and interactions where asked for."""
    shape = (8, 8, 5)
    logit = rng.normal(-1.5, 0.6, (1, 8, 1)) + rng.normal(0, 0.4, (1, 1, 5)) + rng.normal(0, 0.8, shape)
    logit = logit + rng.normal(0, template, (8, 8, 1)) + rng.normal(0, noun, (8, 1, 5))
    logit[0] += own
    each = np.broadcast_to(logit[..., None], (*shape, samples)).ravel()
    scores = 1 / (1 + np.exp(-each - rng.normal(0, 0.7, each.size)))
    descriptor, template_of, noun_of, _ = np.indices((*shape, samples)).reshape(4, -1)
    names = {"descriptor": descriptor, "template": template_of, "noun": noun_of}
    columns = {name: [f"{name}{code}" for code in codes] for name, codes in names.items()}
    return pl.DataFrame(columns | {"score": scores}).with_columns(axis=pl.lit("age"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "design",
    [{"samples": 5}, {"noun": 0.5}, {"template": 0.4, "noun": 0.4}],
    ids=["5 samples a prompt", "nouns", "both"],
)
def test_samples_shared_nouns_and_templates_are_no_offence(design: dict[str, float]) -> None:
    # issue, point 2: the spread was false in 42 % at five samples a prompt
    rng, draws = np.random.default_rng(3), 30
    spread, named = 0, 0
    for _ in range(draws):
        result = offensiveness(_clustered(rng, **design), draws=1)  # type: ignore[arg-type]
        spread += result.spread["p"][1] <= 0.05
        table = result.descriptors
        found = table["axis_p"][0] <= 0.05 and (benjamini_hochberg(table["p"].to_numpy()) <= 0.05).any()
        named += bool(found)
        assert result.spread["p"][1] == pytest.approx(table["axis_p"][0])
    assert max(spread, named) <= binom.ppf(0.99, draws, 0.05)


def test_the_smallest_detectable_excess_is_found_four_times_in_five() -> None:
    rng, draws = np.random.default_rng(4), 30
    reach = np.median(
        [
            offensiveness(_clustered(rng, noun=0.3), draws=1).descriptors["minimum_detectable"][0]
            for _ in range(6)
        ]
    )
    found, true = 0, []
    for _ in range(draws):
        frame = _clustered(rng, noun=0.3).with_columns(
            score=pl.when(pl.col("descriptor") == "descriptor0")
            .then(pl.col("score") + reach)
            .otherwise("score")
        )
        frame = frame.with_columns(pl.col("score") / frame["score"].max())
        table = offensiveness(frame, draws=1).descriptors.filter(descriptor="descriptor0")
        found += table["p"][0] <= 0.05 / 8
        true.append(table["excess"][0])
    assert binom.ppf(0.005, draws, 0.8) <= found <= binom.ppf(0.995, draws, 0.8)


def test_missing_scores_are_counted_and_few_columns_suffice() -> None:
    frame = pl.DataFrame({"descriptor": ["old", "old", "odd", "odd"], "score": [0.2, None, 0.9, 0.7]})
    result = offensiveness(frame, draws=9)
    assert result.descriptors.select("descriptor", "estimate", "n", "n_missing").rows() == [
        ("odd", pytest.approx(0.8), 2, 0),
        ("old", 0.2, 1, 1),
    ]
    assert result.descriptors["low"].null_count() == 2 and result.descriptors["p"].null_count() == 2
    assert all("one template" in obstacle for obstacle in result.descriptors["obstacle"])
    alone = offensiveness(frame.filter(descriptor="odd"), draws=9)
    assert alone.spread.is_empty() and alone.descriptors["excess"][0] is None


def test_bad_calls_are_refused() -> None:
    frame = _frame(np.random.default_rng(5), np.zeros(3))
    with pytest.raises(DataError, match="probabilities from 0 to 1"):
        offensiveness(frame.with_columns(score=pl.lit(3.0)))
    with pytest.raises(UsageError, match="threshold=0"):
        offensiveness(frame, threshold=0)
    with pytest.raises(DataError, match="empty in all rows"):
        offensiveness(frame.with_columns(score=pl.lit(None, pl.Float64)))
    with pytest.raises(DataError, match="descriptor is empty in"):
        offensiveness(frame.with_columns(descriptor=pl.lit(None, pl.String)))
