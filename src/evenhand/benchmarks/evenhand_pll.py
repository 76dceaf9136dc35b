"""evenhand-pll: pseudo-log-likelihoods of evenhand's own descriptors in masked models. It needs no download."""

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from evenhand.benchmarks.analysis import phrases_benchmark, seat_templates, with_axis_size
from evenhand.prompts import PromptSet
from evenhand.prompts.language import compose
from evenhand.schema import Card


def _build(folders: Mapping[str, Path]) -> PromptSet:
    frame = compose(templates=seat_templates(), controls=False).filter(pl.col("noun").is_not_null())
    card = Card(
        name="evenhand-phrases",
        summary="Built-in noun phrases in neutral and humanising sentences; included in evenhand.",
        licence="Apache-2.0",
    )
    return PromptSet(with_axis_size(frame.with_columns(frame=pl.coalesce("pair", "template"))), card)


BENCHMARK = phrases_benchmark(
    "evenhand-pll",
    _build,
    summary="For masked models: are some people less likely in humanising sentences than in neutral ones? Built-in "
    "sentences.",
    citation="evenhand; after Smith et al. 2022 (HolisticBias) §B.1 and Kauf and Ivanova 2023 for the masking.",
    licence="Apache-2.0",
    source="HolisticBias §B.1; own lexicon and templates.",
)
