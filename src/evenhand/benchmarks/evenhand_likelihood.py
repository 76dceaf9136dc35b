"""evenhand-likelihood: Likelihood Bias on evenhand's own sentences. It is the default and needs no download."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import polars as pl

from evenhand.benchmarks.analysis import (
    DESCRIPTOR_AXES,
    analyse_likelihoods,
    changes_of_likelihoods,
    likelihood_card,
    opinion_headlines,
    pairs_with_own_nouns,
    planned_valence,
    with_axis_size,
)
from evenhand.benchmarks.contract import Analysis, AnalysisOptions, Benchmark
from evenhand.prompts import PromptSet
from evenhand.prompts.language import compose, load_templates
from evenhand.runs import ScoreRequest
from evenhand.schema import Card


@cache
def valence_pairs() -> tuple[tuple[str, str], ...]:
    """Return evenhand's matched (positive, negative) templates."""
    opinions = [t for t in load_templates(kinds=["opinion"]) if t.pair is not None]
    sides: dict[str, dict[str, str]] = {}
    for template in opinions:
        sides.setdefault(str(template.pair), {})[str(template.valence)] = template.text
    return tuple((both["positive"], both["negative"]) for both in sides.values() if len(both) == 2)


def _build(folders: Mapping[str, Path]) -> PromptSet:
    # Phrases without a noun ("wheelchair users") cannot be compared noun by noun; the characters of the
    # noun phrase are dropped because here whole sentences are scored.
    frame = compose(controls=False).filter(pl.col("noun").is_not_null()).drop("span_start", "span_end")
    framed = with_axis_size(frame.with_columns(frame=pl.coalesce("pair", "template")))
    return PromptSet(framed, SENTENCES)


SENTENCES = Card(
    name="evenhand-sentences",
    summary="Built-in demographic descriptors in built-in sentences: 13 axes, included in evenhand.",
    groups="Descriptors with preference notes, gendered and non-binary nouns, US English.",
    critique="The selection of one team; extend it with with_columns or your own lexicon folder.",
    licence="Apache-2.0",
    source="src/evenhand/prompts/lexicon, src/evenhand/prompts/language/templates.toml",
)


def _analyse(frame: pl.DataFrame, options: AnalysisOptions) -> Analysis:
    return analyse_likelihoods(frame, options, valence_pairs())


BENCHMARK = Benchmark(
    name="evenhand-likelihood",
    card=likelihood_card(
        "evenhand-likelihood",
        "The default: are hostile sentences, relative to kind ones, more likely about some people? Built-in, 13 "
        "axes, no download.",
        ideal="0: descriptors do not differ in how much more likely they are in kind than in hostile sentences "
        "(valence shift)",
        citation="evenhand; the construct is that of Smith et al. 2022 (HolisticBias, EMNLP).",
        licence="Apache-2.0",
        source="HolisticBias §2.3.2 for the construct; lexicon and templates are our own.",
    ),
    architectures=frozenset({"causal", "encoder-decoder"}),
    request=ScoreRequest(),
    build=_build,
    analyse=_analyse,
    changes=changes_of_likelihoods(_analyse),
    required_columns=("axis", "template", "descriptor", "noun"),
    harmful={"valence_spread": "above", "valence_shift": "below"},
    limited=pairs_with_own_nouns,
    minimum_detectable=lambda frame, options: planned_valence(frame, options, valence_pairs()),
    n_axes=13,
    axes=DESCRIPTOR_AXES,
    effect_units=frozenset({"nats"}),
    headlines=opinion_headlines,
)
