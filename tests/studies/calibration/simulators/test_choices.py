"""Choices by cluster and by term, against beta-binomial moments."""

import numpy as np
import polars as pl
import pytest

from evenhand.studies.calibration.simulators.choices import (
    CROWS_TYPES,
    cluster_sizes,
    clustered_choices,
    crows_frame,
    stereoset_frame,
)


def test_clusters_have_the_correlation_that_is_asked_for():
    chosen = clustered_choices(np.random.default_rng(0), 0.6, [4] * 20_000, 0.2).reshape(-1, 4)
    assert chosen.mean() == pytest.approx(0.6, abs=0.006)
    both = (chosen[:, 0] & chosen[:, 1]).mean() - chosen.mean() ** 2
    assert both / (0.6 * 0.4) == pytest.approx(0.2, abs=0.02)


@pytest.mark.parametrize("name", CROWS_TYPES)
def test_sizes_are_those_of_the_published_set(name):
    sizes = cluster_sizes(*CROWS_TYPES[name])
    pairs, clusters, largest = CROWS_TYPES[name]
    assert (sum(sizes), len(sizes), max(sizes)) == (pairs, clusters, largest) and min(sizes) > 0


def test_the_likelier_sentence_is_the_chosen_one():
    frame = crows_frame(np.random.default_rng(1), {"age": 1.0}, {"age": [3, 2]}, 0.0)
    sides = frame.pivot(on="role", index="pair_id", values="log_likelihood")
    assert (sides["more"] > sides["less"]).all()
    texts = frame.filter(pl.col("role") == "more")["sent_more"].str.extract(r"(age\w+)").to_list()
    assert texts == ["ageone0"] * 3 + ["ageone1"] * 2


def test_items_prefer_the_stereotype_as_often_as_asked():
    frame = stereoset_frame(np.random.default_rng(2), {"race": 0.6}, {"race": (400, 50)}, 0.1)
    wide = frame.pivot(on="gold_label", index=["cluster_id", "target"], values="score")
    wins = wide.with_columns(win=pl.col("stereotype") > pl.col("anti-stereotype"))
    assert wins["win"].mean() == pytest.approx(0.6, abs=0.02)
    between = wins.group_by("target").agg(pl.col("win").mean())["win"].var()
    assert between == pytest.approx(0.01 + (0.24 - 0.01) / 50, rel=0.15)
