"""Sentences of known worlds: shifts, variances, and what hangs together."""

import numpy as np
import polars as pl
import pytest

from evenhand.studies.calibration.simulators.sentences import (
    WORLDS,
    SentenceWorld,
    contrast_table,
    sentence_frame,
)


@pytest.mark.parametrize("name", WORLDS)
def test_means_are_the_shifts(name):
    shifts = np.array([0.0, 1.0, -2.0, 0.0] * 5)
    world = WORLDS[name]
    table = contrast_table(np.random.default_rng(0), world, shifts, 4000, 2)
    assert table.shape == (4000, 2, 20)
    assert table.mean(axis=(0, 1)) == pytest.approx(shifts, abs=0.06)


def test_variances_within_and_between_pairs_are_those_of_the_world():
    world = SentenceWorld(0.3, 0.6)
    table = contrast_table(np.random.default_rng(1), world, np.zeros(40), 800, 10)
    within = table.var(axis=1, ddof=1).mean()
    assert within == pytest.approx(0.36, rel=0.05)
    assert table.mean(axis=1).var(axis=0, ddof=1).mean() == pytest.approx(0.09 + 0.36 / 10, rel=0.06)


def test_synonyms_hang_together_by_fours_and_one_factor_by_all():
    table = contrast_table(
        np.random.default_rng(2), SentenceWorld(0.3, 0.0, shape="synonyms"), np.zeros(8), 5000, 1
    )
    related = np.corrcoef(table[:, 0].T)
    assert related[0, 3] == pytest.approx(0.8, abs=0.03) and related[0, 4] == pytest.approx(0.0, abs=0.05)
    table = contrast_table(
        np.random.default_rng(3), SentenceWorld(0.3, 0.0, shape="one factor"), np.zeros(6), 500, 1
    )
    assert np.abs(np.corrcoef(table[:, 0].T)) == pytest.approx(np.ones((6, 6)))


def test_uneven_worlds_have_descriptors_of_unequal_spread():
    table = contrast_table(np.random.default_rng(4), SentenceWorld(0.3, 0.3, 0.8), np.zeros(200), 300, 2)
    assert np.log(table.std(axis=(0, 1))).std() == pytest.approx(0.8, abs=0.1)


@pytest.mark.parametrize("own", [True, False])
def test_likelihoods_give_the_contrasts_back(own):
    table = contrast_table(np.random.default_rng(5), WORLDS["even"], np.zeros(3), 2, 4)
    frame = sentence_frame(
        np.random.default_rng(6), {"axis": table}, [("k0", "h0"), ("k1", "h1")], own_nouns=own
    )
    assert frame.height == 2 * table.size and frame["noun"].n_unique() == (8 if own else 4)
    wide = frame.pivot(on="template", index=["descriptor", "noun"], values="log_likelihood")
    first = wide.drop_nulls(["k0", "h0"]).sort("noun", "descriptor")
    seen = (first["k0"] - first["h0"]).to_numpy().reshape(4, 3)
    # what a sentence does to all descriptors alike is no part of any contrast between them
    assert seen - seen.mean(axis=1, keepdims=True) == pytest.approx(
        table[0] - table[0].mean(axis=1, keepdims=True)
    )
    assert (frame["perplexity"].log() * -12).to_numpy() == pytest.approx(frame["log_likelihood"].to_numpy())
    assert pl.Series(frame["token_count"]).unique().to_list() == [12]
