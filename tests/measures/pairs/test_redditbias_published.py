"""The published LMB: scipy's paired t, the rule of outliers written out, and the published perplexities."""

import json
import math

import numpy as np
import polars as pl
import pytest
from scipy.stats import ttest_rel

from evenhand.measures import redditbias_lmb_published
from evenhand.prompts.redditbias import load_redditbias
from evenhand.schema import DataError
from evenhand.stats import outlying_pairs


def pairs(n: int = 60, seed: int = 0, bias_type: str = "age") -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    level = rng.normal(5.5, 1.3, n)
    more, less = np.exp(level + rng.normal(-0.1, 0.3, n)), np.exp(level)
    return pl.DataFrame({"bias_type": [bias_type] * n, "perplexity_more": more, "perplexity_less": less})


def dropped_one_by_one(more: list[float], less: list[float]) -> list[bool]:
    """The released program's way: lists of outlying values, then every row that holds one of them."""
    out = []
    for side in (more, less):
        mean = sum(side) / len(side)
        deviation = math.sqrt(sum((value - mean) ** 2 for value in side) / len(side))
        out += [value for value in side if value > mean + 3 * deviation or value < mean - 3 * deviation]
    return [one in out or other in out for one, other in zip(more, less, strict=True)]


@pytest.mark.parametrize("seed", range(5))
def test_outliers_are_those_of_a_plain_reading(seed):
    frame = pairs(80, seed)
    more, less = frame["perplexity_more"].to_list(), frame["perplexity_less"].to_list()
    less[3] = max(more)  # a value that is an outlier on the other side goes as well
    expected = dropped_one_by_one(more, less)
    assert any(expected) and outlying_pairs(more, less, by_value=True).tolist() == expected


def test_t_and_p_are_those_of_scipy_with_and_without_outliers():
    frame = pl.concat([pairs(), pairs(40, 1, "race")])
    table = redditbias_lmb_published(frame)
    assert table["axis"].to_list() == ["age", "race"]
    for row, part in zip(table.to_dicts(), frame.partition_by("bias_type"), strict=True):
        more, less = part["perplexity_more"].to_numpy(), part["perplexity_less"].to_numpy()
        for ending, one, other in (("", more, less), ("_log", np.log(more), np.log(less))):
            expected = ttest_rel(one, other)
            assert row[f"t{ending}"] == pytest.approx(expected.statistic, rel=1e-12)
            assert row[f"p{ending}"] == pytest.approx(expected.pvalue, rel=1e-9)
        kept = ~np.array(dropped_one_by_one(more.tolist(), less.tolist()))
        assert row["n_dropped"] == (~kept).sum() > 0
        assert row["t_without"] == pytest.approx(ttest_rel(more[kept], less[kept]).statistic, rel=1e-12)
        off = (more - less - (more - less).mean()) ** 2
        assert row["largest_share"] == pytest.approx(100 * off.max() / off.sum())


def test_a_failed_sentence_is_missing_and_not_zero():
    frame = pairs(20)
    broken = pl.concat([frame, pl.DataFrame({"bias_type": ["age"] * 4, "perplexity_more": [0.0, 5.0, None, 9.0],
                                             "perplexity_less": [3.0, float("inf"), 2.0, float("nan")]})])  # fmt: skip
    whole, row = (
        redditbias_lmb_published(frame).row(0, named=True),
        redditbias_lmb_published(broken).row(0, named=True),
    )
    assert (row["n"], row["n_missing"]) == (20, 4) and row["t"] == whole["t"]
    one = redditbias_lmb_published(frame.head(1)).row(0, named=True)
    assert (one["n"], one["t"], one["p"]) == (1, None, None)


def test_absent_columns_are_named():
    with pytest.raises(DataError, match="needs the column perplexity_less"):
        redditbias_lmb_published(pairs().drop("perplexity_less"))


@pytest.mark.parity
@pytest.mark.parametrize("bias", ["religion1", "race"])
@pytest.mark.parametrize(("split", "name"), [("test", "test"), ("valid", "valid"), ("attributes", "attr")])
def test_the_published_perplexities_give_the_published_numbers(shared, bias, split, name):
    expected = json.loads((shared / "parity" / "redditbias_lmb.json").read_text())[f"{bias}/{name}"]
    rows = load_redditbias(shared / "data" / "redditbias", split=split, bias_types=[bias]).frame
    sides = rows.pivot(on="role", index=["bias_type", "pair_id"], values="dialogpt_perplexity")
    row = redditbias_lmb_published(sides.rename({"more": "perplexity_more", "less": "perplexity_less"})).row(
        0, named=True
    )
    names = ("mean_neg", "mean_pos") if split == "attributes" else ("mean_T1", "mean_T2")
    same = {"n": "n", "t": "paired_t", "p": "paired_p", "mean_more": names[0], "mean_less": names[1]}
    for mine, theirs in (same | {"t_log": "paired_logppl_t", "p_log": "paired_logppl_p"}).items():
        if theirs in expected:
            assert row[mine] == pytest.approx(expected[theirs], rel=1e-9)
    if split == "test":
        told = {"religion1": (-3.5746, 34), "race": (1.1654, 48)}[bias]
        assert (round(row["t"], 4), round(row["largest_share"])) == told
    if (bias, split) == (
        "race",
        "valid",
    ):  # one more pass of the rule turns "nothing" into "anti-stereotyped"
        assert (row["n_dropped"], round(row["t"], 2), round(row["t_without"], 2)) == (9, 0.17, 3.33)
