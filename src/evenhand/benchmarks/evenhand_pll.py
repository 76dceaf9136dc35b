"""evenhand-pll: our own descriptors in masked models, by pseudo-log-likelihood; needs no download."""

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from evenhand.benchmarks.analysis import (
    analyse_phrases,
    crossed_by_noun,
    phrases_card,
    planned_minimum,
    seat_templates,
)
from evenhand.benchmarks.contract import Benchmark
from evenhand.prompts import PromptSet
from evenhand.prompts.language import compose
from evenhand.runs import ScoreRequest
from evenhand.schema import Card


def _build(folders: Mapping[str, Path]) -> PromptSet:
    frame = compose(templates=seat_templates(), controls=False).filter(pl.col("noun").is_not_null())
    card = Card(
        name="evenhand-phrases",
        summary="Our own noun phrases in neutral and humanising sentences; ships with evenhand.",
        licence="Apache-2.0",
    )
    return PromptSet(frame.with_columns(frame=pl.coalesce("pair", "template")), card)


BENCHMARK = Benchmark(
    name="evenhand-pll",
    card=phrases_card(
        "evenhand-pll",
        "Masked models: how readily are phrases about people expected, in humanising sentences too?",
        citation="evenhand; after Smith et al. 2022 (HolisticBias) §B.1 and Kauf and Ivanova 2023 for the masking.",
        licence="Apache-2.0",
        source="HolisticBias §B.1; own lexicon and templates.",
    ),
    architectures=frozenset({"masked"}),
    request=ScoreRequest(masking="word"),
    build=_build,
    analyse=analyse_phrases,
    required_columns=("axis", "template", "descriptor", "noun"),
    harmful={"pseudo_log_likelihood_bias": "above", "humanising_spread": "above"},
    limited=crossed_by_noun,
    minimum_detectable=planned_minimum,
)
