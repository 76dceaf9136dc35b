"""evenhand-likelihood: Likelihood Bias on our own sentences; the default, and needs no download."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import polars as pl

from evenhand.benchmarks.analysis import (
    LEAST_CELLS,
    analyse_likelihoods,
    changes_of_likelihoods,
    crossed_by_noun,
    likelihood_card,
    planned_valence,
    with_axis_size,
)
from evenhand.benchmarks.contract import Analysis, AnalysisOptions, Benchmark
from evenhand.prompts import PromptSet, row_keys
from evenhand.prompts.language import compose, load_templates
from evenhand.runs import ScoreRequest
from evenhand.schema import Card


@cache
def valence_pairs() -> tuple[tuple[str, str], ...]:
    """Our matched (positive, negative) templates."""
    opinions = [t for t in load_templates(kinds=["opinion"]) if t.pair is not None]
    sides: dict[str, dict[str, str]] = {}
    for template in opinions:
        sides.setdefault(str(template.pair), {})[str(template.valence)] = template.text
    return tuple((both["positive"], both["negative"]) for both in sides.values() if len(both) == 2)


def _build(folders: Mapping[str, Path]) -> PromptSet:
    # Phrases without a noun ("wheelchair users") cannot be compared noun by noun; the characters of the
    # noun phrase are dropped because here whole sentences are scored.
    frame = compose(controls=False).filter(pl.col("noun").is_not_null()).drop("span_start", "span_end")
    # Both halves of a matched pair are sampled together, or the valence shift could not be computed.
    framed = with_axis_size(frame.with_columns(frame=pl.coalesce("pair", "template")))
    return PromptSet(framed, SENTENCES)


def _limited(prompts: PromptSet, limit: int, seed: int) -> PromptSet:
    """As crossed_by_noun, with so many templates that nouns outnumber them, every second one a matched pair:
    what a descriptor shows in one contrast is not yet valence."""
    if {"frame", "pair", "kind"} <= set(prompts.frame.columns):
        cells = max(LEAST_CELLS, limit // prompts.frame["descriptor"].n_unique())
        kept = _frames(prompts, seed)[: max(6, round((cells / 2) ** 0.5))]
        prompts = prompts.filter(pl.col("frame").is_in(kept))
    return crossed_by_noun(prompts, limit, seed)


def _frames(prompts: PromptSet, seed: int) -> list[str]:
    """Frames in the order in which a growing sample takes them: pairs and others by turns, seeded."""
    frames = prompts.frame.select("frame", paired=pl.col("pair").is_not_null(), kind="kind").unique()
    frames = frames.with_columns(key=row_keys(frames["frame"], seed, "frames")).sort("key", "frame")
    # the others go round their kinds, so that each kind is met early
    frames = frames.with_columns(turn=pl.int_range(pl.len()).over("paired", "kind")).sort("turn", "key")
    frames = frames.with_columns(place=pl.int_range(pl.len()).over("paired"))
    return frames.sort("place", "paired", descending=[False, True])["frame"].to_list()


SENTENCES = Card(
    name="evenhand-sentences",
    summary="Our own demographic descriptors in our own sentences: 13 axes, ships with evenhand.",
    groups="Descriptors with preference notes, gendered and non-binary nouns, US English.",
    critique="One team's selection; use with_columns or a lexicon folder of your own to extend it.",
    licence="Apache-2.0",
    source="src/evenhand/prompts/lexicon, src/evenhand/prompts/language/templates.toml",
)


def _analyse(frame: pl.DataFrame, options: AnalysisOptions) -> Analysis:
    return analyse_likelihoods(frame, options, valence_pairs())


BENCHMARK = Benchmark(
    name="evenhand-likelihood",
    card=likelihood_card(
        "evenhand-likelihood",
        "Valence and likelihood of descriptors in our own sentences: 13 axes, no download; the default.",
        ideal="no spread of valence shifts",
        citation="evenhand; the construct is that of Smith et al. 2022 (HolisticBias, EMNLP).",
        licence="Apache-2.0",
        source="HolisticBias §2.3.2 for the construct; own lexicon and templates.",
    ),
    architectures=frozenset({"causal", "encoder-decoder"}),
    request=ScoreRequest(),
    build=_build,
    analyse=_analyse,
    changes=changes_of_likelihoods(_analyse),
    required_columns=("axis", "template", "descriptor", "noun"),
    harmful={"valence_spread": "above", "valence_shift": "below"},
    limited=_limited,
    minimum_detectable=lambda frame, options: planned_valence(frame, options, valence_pairs()),
    n_axes=13,
)
