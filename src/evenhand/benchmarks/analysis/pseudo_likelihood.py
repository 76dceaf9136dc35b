"""Shared analysis of pseudo-log-likelihood benchmarks: noun phrases about people in masked models."""

from collections.abc import Callable, Mapping
from pathlib import Path

import polars as pl

from evenhand.benchmarks.analysis.changes import changes_of_likelihoods
from evenhand.benchmarks.analysis.drawing_prompts import DESCRIPTOR_AXES, pairs_with_own_nouns
from evenhand.benchmarks.analysis.headlines import valence_headlines
from evenhand.benchmarks.analysis.likelihood import (
    axis_sizes,
    planned_valence,
    spread_details,
    spread_rows,
    valence_details,
    valence_rows,
)
from evenhand.benchmarks.contract import Analysis, AnalysisOptions, Benchmark
from evenhand.measures import pseudo_log_likelihoods
from evenhand.prompts import PromptSet
from evenhand.prompts.language import Template, load_templates
from evenhand.runs import ScoreRequest
from evenhand.schema import Card


def phrases_benchmark(
    name: str,
    build: Callable[[Mapping[str, Path]], PromptSet],
    *,
    summary: str,
    citation: str,
    licence: str,
    source: str,
    datasets: tuple[str, ...] = (),
    n_axes: int = 13,
) -> Benchmark:
    """Create a benchmark of noun phrases for masked models, with the shared request, measures and limitations.

    `name`, `build`, `datasets` and `n_axes` are those of a `Benchmark`. `summary`, `citation`, `licence` and `source`
    are those of its card.
    """
    card = Card(
        name=name,
        summary=summary,
        construct="Whether a masked model finds some people less likely in sentences that give a person an inner "
        "life ('... is deeply in love') than in neutral ones ('... is at the counter').",
        harm="Representational: people of some groups are less readily described as persons.",
        groups="Each descriptor is compared with the others of its axis, in the same templates and with the same "
        "nouns.",
        ideal="0: descriptors do not differ in how much more likely they are in humanising than in neutral "
        "sentences",
        direction="A larger spread is worse. A descriptor with a contrast below 0 is less likely in humanising "
        "sentences than others.",
        null="No descriptor's contrast of humanising and neutral sentences is larger than the margin. The result "
        "holds for sentences like these.",
        critique="A pseudo-log-likelihood is not the probability of the phrase. Tokens are predicted one at a time "
        "from all others, so long words look likely. Masking the rest of the word as well reduces this effect. The "
        "templates are our own, not those of SEAT. The published number is in holisticbias-seat.",
        citation=citation,
        licence=licence,
        source=source,
    )
    return Benchmark(
        name=name,
        card=card,
        architectures=frozenset({"masked"}),
        request=ScoreRequest(masking="word"),
        build=build,
        analyse=analyse_phrases,
        changes=changes_of_likelihoods(analyse_phrases),
        required_columns=("axis", "template", "descriptor", "noun"),
        harmful={"humanising_spread": "above", "humanising_contrast": "below"},
        limited=pairs_with_own_nouns,
        minimum_detectable=lambda frame, options: planned_valence(frame, options, seat_pairs(), "phrase"),
        n_axes=n_axes,
        axes=DESCRIPTOR_AXES,
        effect_units=frozenset({"nats"}),
        headlines=valence_headlines(
            "humanising_spread", "humanising_contrast", "less humanising", "humanising"
        ),
        datasets=datasets,
    )


def seat_templates() -> tuple[Template, ...]:
    """Return evenhand's neutral and humanising templates."""
    return load_templates(kinds=["seat"])


def seat_pairs() -> list[tuple[str, str]]:
    """Return evenhand's matched (humanising, neutral) templates."""
    sides: dict[str, dict[bool, str]] = {}
    for template in seat_templates():
        sides.setdefault(str(template.pair), {})[bool(template.humanising)] = template.text
    return [(both[True], both[False]) for both in sides.values() if len(both) == 2]


def analyse_phrases(frame: pl.DataFrame, options: AnalysisOptions) -> Analysis:
    """Compare descriptors within humanising templates, and humanising with neutral templates.

    frame: axis, template, descriptor, noun, humanising, log_likelihood and token_count of the phrase.
    """
    asked = set(frame["template"].unique().to_list())
    pairs = [pair for pair in seat_pairs() if asked.issuperset(pair)]
    humanising, neutral = [human for human, _ in pairs], [plain for _, plain in pairs]
    result = pseudo_log_likelihoods(
        frame,
        humanising=humanising,
        neutral=neutral,
        alpha=options.alpha,
        margin=options.margin,
        contrast_margin=options.valence_margin,
        n_axes=options.n_axes,
        axis_sizes=axis_sizes(frame),
        seed=options.seed,
    )
    rows = valence_rows(
        result.contrast,
        options.valence_margin,
        measure="humanising_spread",
        group_measure="humanising_contrast",
        per="phrase",
    )
    rows += spread_rows(result.spread, measure="pseudo_log_likelihood_spread")
    return Analysis(rows, valence_details(result.contrast) | spread_details(result.spread))
