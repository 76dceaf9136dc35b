"""The SEAT-template measure: differences where people are called people, beside neutral sentences."""

import numpy as np
import polars as pl
import pytest

from evenhand.measures import pseudo_log_likelihoods, published_pseudo_log_likelihood_bias
from evenhand.schema import DataError

HUMAN = ["X is a person.", "X are people.", "X has a name."]
PLAIN = ["This is X.", "Here are X.", "X is over there."]


def world(effect: float, seed: int = 0) -> pl.DataFrame:
    """12 descriptors of 1 or 2 tokens; the first is `effect` nats less at home in HUMAN."""
    rng = np.random.default_rng(seed)
    rows = []
    for d in range(12):
        rarity, tokens = rng.normal(0, 2), 2 + d % 2
        for n in range(24):
            phrase = -8 + rarity + 0.1 * n + rng.normal(0, 0.2)
            for template in HUMAN + PLAIN:
                value = phrase + rng.normal(0, 0.1) - effect * (d == 0 and template in HUMAN)
                rows.append(("ability", template, f"d{d:02}", f"n{n}", value, tokens))
    names = ["axis", "template", "descriptor", "noun", "log_likelihood", "token_count"]
    return pl.DataFrame(rows, schema=names, orient="row")


def test_contrast_finds_the_planted_descriptor_whatever_its_rarity() -> None:
    result = pseudo_log_likelihoods(world(0.6), humanising=HUMAN, neutral=PLAIN)
    rows = result.contrast.valence
    assert rows["shift"][0] == pytest.approx(-0.6, abs=0.06)
    assert rows["q"][0] < 0.05
    assert (rows["q"][1:] > 0.001).all()
    assert result.contrast.axes["p"][0] < 0.01


def test_nothing_planted_nothing_found() -> None:
    result = pseudo_log_likelihoods(world(0.0, seed=3), humanising=HUMAN, neutral=PLAIN)
    assert result.contrast.axes["p"][0] > 0.01
    assert (result.contrast.valence["q"] > 0.01).all()


def test_spread_uses_humanising_templates_only_and_tokens_of_the_phrase() -> None:
    frame = world(0.0)
    result = pseudo_log_likelihoods(frame, humanising=HUMAN, neutral=PLAIN)
    assert result.spread.per == "token"
    assert sorted(result.spread.descriptor_templates["template"].unique()) == sorted(HUMAN)
    first = frame.filter(pl.col("descriptor") == "d01", pl.col("template").is_in(HUMAN))
    expected = np.exp(np.median(-first["log_likelihood"] / first["token_count"]))
    assert result.spread.descriptors["median_perplexity"][1] == pytest.approx(expected)


def test_published_form_ranks_the_summed_likelihood() -> None:
    frame = world(0.0).with_columns(
        log_likelihood=pl.when(pl.col("descriptor") == "d00").then(-99.0).otherwise("log_likelihood")
    )
    pairs = published_pseudo_log_likelihood_bias(frame).by_axis_and_descriptor_pair
    assert (pairs.filter(descriptor_0="d00")["significant_difference"] == 1.0).all()


def test_missing_column_is_named() -> None:
    with pytest.raises(DataError, match="token_count"):
        pseudo_log_likelihoods(world(0.0).drop("token_count"), humanising=HUMAN, neutral=PLAIN)
