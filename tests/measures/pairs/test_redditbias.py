"""RedditBias corrected: phrases once each, against plain computations; changes between two models; what is refused."""

import numpy as np
import polars as pl
import pytest
from scipy.stats import binomtest

from evenhand.measures import plan_redditbias, redditbias_change, redditbias_lmb
from evenhand.measures.pairs.redditbias import LARGEST_EFFECT
from evenhand.schema import DataError
from evenhand.stats.contrasts import skewed_mean


def pairs(sizes, shift=-0.2, seed=0, bias_type="age", spread=0.3) -> pl.DataFrame:
    """Pairs of phrases of these sizes, half of whose variance the pairs of a phrase share."""
    rng = np.random.default_rng(seed)
    phrase = np.repeat(np.arange(len(sizes)), sizes)
    difference = shift + spread * (rng.normal(size=len(sizes))[phrase] + rng.normal(size=len(phrase)))
    level = rng.normal(5.5, 1.3, len(phrase))
    return pl.DataFrame(
        {
            "bias_type": [bias_type] * len(phrase),
            "pair_id": [f"{bias_type}/{i}" for i in range(len(phrase))],
            "phrase": [f"phrase {k}" for k in phrase],
            "perplexity_more": np.exp(level + difference / 2),
            "perplexity_less": np.exp(level - difference / 2),
            "group_more": ["old"] * len(phrase),
            "group_less": ["young"] * len(phrase),
        }
    )


def one(frame, **options):
    return redditbias_lmb(frame, **options).groups.row(0, named=True)


def test_each_phrase_counts_once_however_many_pairs_say_it():
    frame = pairs([1] * 20 + [30, 5])
    row = one(frame)
    logs = np.log(frame["perplexity_more"].to_numpy() / frame["perplexity_less"].to_numpy())
    means = np.array([logs[frame["phrase"].to_numpy() == name].mean() for name in frame["phrase"].unique()])
    plain = skewed_mean(means, tail=3.0)
    assert (row["estimate"], row["low"], row["high"], row["p"]) == pytest.approx(
        (means.mean(), plain.low, plain.high, plain.p), rel=1e-9
    )
    assert (row["n"], row["n_units"], row["n_missing"], row["null"]) == (55, 22, 0, 0.0)
    assert (row["first"], row["second"]) == ("old", "young")
    assert row["d_z"] == pytest.approx(means.mean() / means.std(ddof=1))
    wins = int((means < 0).sum())
    assert row["likelier"] == pytest.approx(100 * wins / 22)
    assert row["likelier_p"] == pytest.approx(binomtest(wins, 22).pvalue)
    copied = pl.concat([frame, frame.filter(pl.col("phrase") == "phrase 0")] * 3)
    assert one(copied)["estimate"] == pytest.approx(row["estimate"])
    assert one(copied)["p"] == pytest.approx(row["p"])


def test_one_huge_pair_is_seen_and_cannot_make_a_verdict():
    frame = pairs([1] * 60, shift=0.0, spread=0.2)
    quiet = one(frame)
    huge = frame.with_columns(
        perplexity_more=pl.when(pl.col("pair_id") == "age/0").then(1e9).otherwise("perplexity_more")
    )
    row = one(huge)
    assert row["largest_share"] > 90 and row["p"] > 0.05 and row["low"] < 0 < row["high"]
    assert row["minimum_detectable"] > 3 * quiet["minimum_detectable"]
    assert row["n_outliers"] >= 1
    assert row["without_high"] - row["without_low"] < (row["high"] - row["low"]) / 3


def test_order_of_rows_and_types_beside_change_nothing():
    frame = pairs([2] * 15)
    expected = one(frame)
    mixed = pl.concat([frame, pairs([1] * 30, shift=2.0, bias_type="race")]).sample(
        fraction=1, shuffle=True, seed=3
    )
    assert one(mixed) == expected


@pytest.mark.parametrize(
    ("sizes", "told"),
    [
        ([200] + [1] * 4, "There are only 5 phrases. At least 8 are needed."),
        ([8, 9], "There are only 2 phrases"),
        ([50], "There is only 1 phrase."),
    ],
)
def test_pairs_that_all_say_the_same_cannot_be_judged(sizes, told):
    row = one(pairs(sizes))
    assert row["p"] is None and row["minimum_detectable"] is None and row["obstacle"].startswith(told)


def test_where_only_the_impossible_would_have_been_found_nothing_is_measured():
    row = one(pairs([1] * 8, shift=0.0, spread=3.0), level=0.01)
    assert row["minimum_detectable"] is None and "With 8 phrases, only a perplexity" in row["obstacle"]


def equal(n: int) -> pl.DataFrame:
    """Phrases of which each is twice as likely of the first group."""
    level = np.linspace(20, 90, n)
    columns = {"perplexity_more": level, "perplexity_less": 2 * level}
    return pl.DataFrame({"bias_type": ["age"] * n, "phrase": [str(k) for k in range(n)], **columns})


def test_equal_differences_say_what_so_many_could_find_and_not_that_nothing_was_there():
    few, some, many = (one(equal(n), level=0.01) for n in (5, 8, 30))
    assert few["minimum_detectable"] is None and few["p"] is None and "There are only 5" in few["obstacle"]
    assert some["low"] < 0 < some["high"] and some["minimum_detectable"] > 1 and some["obstacle"] is None
    assert many["p"] == pytest.approx((1 - np.log(2) / 3) ** 30) and many["high"] < 0
    strict = one(equal(8), level=0.002)
    assert strict["minimum_detectable"] is None and strict["obstacle"].startswith(
        "With 8 equal phrases, p cannot"
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "share", "off", "spread"),
    [(20, 0.1, 1.5, 0.3), (40, 0.05, 2.0, 0.3), (30, 0.05, 2.0, 0.2), (20, 0.05, 2.0, 0.1)],
)
def test_a_few_phrases_far_off_that_were_not_drawn_make_no_verdict(n, share, off, spread):
    """Quiet phrases and a rare kind far off, mean 0: many data sets hold none of it."""
    rng = np.random.default_rng(11)
    frames = []
    for number in range(200):
        difference = rng.normal(-share * off, spread, n) + off * (rng.random(n) < share)
        frames.append(
            pl.DataFrame(
                {
                    "bias_type": [f"{number:03d}"] * n,
                    "phrase": [str(k) for k in range(n)],
                    "perplexity_more": 100 * np.exp(difference),
                    "perplexity_less": [100.0] * n,
                }
            )
        )
    rows = redditbias_lmb(pl.concat(frames), level=0.01).groups
    assert (rows["p"] <= 0.01).mean() <= 0.015
    assert ((rows["low"] <= 0) & (rows["high"] >= 0)).mean() >= 0.95


def test_missing_perplexities_are_counted():
    frame = pairs([1] * 12)
    broken = frame.with_columns(
        perplexity_less=pl.when(pl.col("pair_id").is_in(["age/1", "age/2"]))
        .then(None)
        .otherwise("perplexity_less")
    )
    row = one(broken)
    assert (row["n"], row["n_missing"]) == (10, 2)
    nothing = one(frame.with_columns(perplexity_less=pl.lit(None, pl.Float64)))
    assert (nothing["n"], nothing["estimate"], nothing["n_missing"]) == (0, None, 12)
    with pytest.raises(DataError, match="needs the column"):
        redditbias_lmb(frame.drop("perplexity_more"))
    with pytest.raises(DataError, match="a number"):
        redditbias_lmb(frame.with_columns(perplexity_more=pl.lit("many")))


def test_terms_say_which_names_differ():
    rows = [("the old sing a song", "the young sing a song", 20.0, 40.0),
            ("my old uncle cooks", "my young uncle cooks", 20.0, 40.0),
            ("youths know nothing at all", "elders know nothing at all", 40.0, 20.0)]  # fmt: skip
    frame = pl.DataFrame(rows, ["sent_more", "sent_less", "perplexity_more", "perplexity_less"], orient="row")
    terms = redditbias_lmb(frame.with_columns(bias_type=pl.lit("age"))).terms
    assert terms.select("axis", "swap", "n", pl.col("estimate").round(3)).rows() == [
        ("age", "old / young", 2, -0.693),
        ("age", "youths / elders", 1, 0.693),
    ]


def test_a_plan_states_what_the_measure_states_of_such_data():
    frame = pairs([1] * 150 + [4] * 20, shift=0.0, spread=0.5 / 2**0.5)
    planned = plan_redditbias(frame.drop("perplexity_more", "perplexity_less"), level=0.01).row(0, named=True)
    assert (planned["axis"], planned["n"], planned["n_units"]) == ("age", 230, 170)
    assert planned["minimum_detectable"] == pytest.approx(
        one(frame, level=0.01)["minimum_detectable"], rel=0.15
    )
    few = plan_redditbias(pairs([9, 9]).drop("perplexity_more"), level=0.01)
    assert few["minimum_detectable"].to_list() == [None] and LARGEST_EFFECT == 3.0


def test_a_change_is_that_of_each_pair_and_what_both_models_share_cancels():
    first = pairs([1] * 240 + [6] * 5, shift=-0.3)
    rng = np.random.default_rng(9)
    moved = first.with_columns(
        perplexity_more=pl.col("perplexity_more") * np.exp(rng.normal(0.15, 0.02, 270))
    )
    before, after = redditbias_lmb(first), redditbias_lmb(moved.reverse())
    row = redditbias_change(before, after, level=0.01).row(0, named=True)
    assert row["estimate"] == pytest.approx(0.15, abs=0.01) and row["p"] < 1e-6
    # phrases hardly differ: what counts is that some may not have been drawn
    assert row["minimum_detectable"] == pytest.approx(2 * (1 - 0.01 ** (1 / 245)), rel=0.05)
    assert row["after"] - row["before"] == pytest.approx(row["estimate"])
    assert row["before"] == pytest.approx(before.groups["estimate"][0])
    half = redditbias_change(before, redditbias_lmb(moved.head(35))).row(0, named=True)
    assert (half["n"], half["n_missing"]) == (35, 235)
    with pytest.raises(DataError, match="pairs has a perplexity from both"):
        redditbias_change(before, redditbias_lmb(moved.with_columns(pair_id=pl.col("pair_id") + "?")))
