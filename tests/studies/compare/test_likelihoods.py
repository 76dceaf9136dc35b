"""Likelihoods of two models, paired text by text: a planted change is found and named, noise is none."""

from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from evenhand.benchmarks import load_benchmark
from evenhand.benchmarks.evenhand_likelihood import valence_pairs
from evenhand.schema import DataError
from evenhand.studies.compare.conduct import compare_outputs
from evenhand.studies.compare.likelihoods import likelihood_changes
from evenhand.studies.compare.outputs import Outputs

AXIS = "religion"


@cache
def asked():
    """Opinions about the groups of one axis."""
    prompts = load_benchmark("evenhand-likelihood").build({}).frame
    templates = [text for pair in valence_pairs() for text in pair]
    mine = prompts.filter(pl.col("template").is_in(templates), pl.col("axis") == AXIS)
    kept = mine["descriptor"].unique().sort().head(12).to_list()
    nouns = mine["noun"].unique().sort().head(4).to_list()
    return mine.filter(pl.col("descriptor").is_in(kept), pl.col("noun").is_in(nouns))


def scored(seed, hostile=None):
    """Log-likelihoods of which descriptor, template and noun have their part, and a little noise of each model."""
    frame, draws = asked(), np.random.default_rng(seed)
    base = np.random.default_rng(99).normal(-30, 5, frame.height)
    kind = [pair[0] for pair in valence_pairs()]
    told = 2.0 * ((pl.col("descriptor") == (hostile or "")) & pl.col("template").is_in(kind)).cast(pl.Float64)
    noise = pl.Series(base + draws.normal(0, 0.1, frame.height))
    likelihood = noise - frame.select(told).to_series()
    return frame.with_columns(
        log_likelihood=likelihood, token_count=pl.lit(9, pl.UInt32), perplexity=(-likelihood / 9).exp(),
        error=pl.lit(None, pl.String),
    )  # fmt: skip


def compared(first, other, architectures=("causal", "causal")):
    notes = []
    found = likelihood_changes(
        "evenhand-likelihood", first, other, model="new", architectures=architectures, alpha=0.05, seed=0,
        note=notes.append,
    )  # fmt: skip
    return found, notes


def test_a_descriptor_that_came_to_be_disliked_is_named():
    hostile = asked()["descriptor"].unique().sort()[3]
    found, notes = compared(scored(1), scored(2, hostile))
    assert notes == [] and found is not None
    axis = found.filter(measure="valence_spread_change").row(0, named=True)
    assert axis["verdict"] == "changed" and axis["p"] < 0.01 and axis["outcome"] == "valence"
    worse = found.filter(measure="valence_shift_change", direction="worse")
    assert worse["group"].to_list() == [hostile]
    row = worse.row(0, named=True)
    assert row["low"] < -2 < row["high"] < 0
    assert row["estimate"] == pytest.approx(row["after"] - row["before"], abs=1e-6)


def test_the_same_likelihoods_and_mere_noise_are_no_change():
    for other in (scored(1), scored(3)):
        found, _ = compared(scored(1), other)
        assert found is not None and set(found["verdict"]) == {"not detected"}


def test_what_cannot_be_paired_is_told():
    one = scored(1)
    found, notes = compared(one, one, ("causal", "masked"))
    assert found is None and "score sentences differently" in notes[0]
    other = one.with_columns(text="x" + pl.col("text"))
    found, notes = compared(one, other)
    assert found is None and "share no sentence" in notes[0]
    found, notes = compared(one, one.head(one.height - 5))
    assert found is not None and "5 sentences exist for one model only" in notes[0]


def test_runs_that_share_no_sentence_of_any_benchmark_are_refused():
    """Parts of one benchmark, and one that both have whole: then only a note says so."""
    one = scored(1)
    halves = one.head(one.height // 2), one.tail(one.height // 2)
    first, other = (
        Outputs(name, Path(name), {}, scored={"evenhand-likelihood": half})
        for name, half in zip("ab", halves, strict=True)
    )
    with pytest.raises(DataError, match=r"share no prompt, so they cannot be compared\. .*share no sentence"):
        compare_outputs(first, other)
    one = one.with_columns(prompt_id=pl.lit("w") + pl.col("prompt_id"))
    first, other = (
        Outputs(side.name, side.source, {}, scored={**side.scored, "holisticbias-likelihood": one})
        for side in (first, other)
    )
    done = compare_outputs(first, other)
    assert any("evenhand-likelihood: the two models share no sentence" in note for note in done.notes)
