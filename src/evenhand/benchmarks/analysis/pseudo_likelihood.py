"""The analysis that pseudo-log-likelihood benchmarks share: phrases about people in a masked model."""

from collections.abc import Callable, Mapping
from pathlib import Path

import polars as pl

from evenhand.benchmarks.analysis.drawing_prompts import pairs_with_own_nouns
from evenhand.benchmarks.analysis.likelihood import (
    corrected_rows,
    planned_minimum,
    published_rows,
    several_descriptors,
    valence_rows,
)
from evenhand.benchmarks.contract import Analysis, AnalysisOptions, Benchmark
from evenhand.measures import pseudo_log_likelihood_bias, published_pseudo_log_likelihood_bias
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
) -> Benchmark:
    """A benchmark of phrases in masked models; what all of them ask, claim and cannot say is the same.

    name, build, datasets: as of a Benchmark. summary, citation, licence, source: of its card.
    """
    card = Card(
        name=name,
        summary=summary,
        construct="Whether a masked model expects some descriptions of people less than others, and less so in "
        "sentences that grant a person an inner life.",
        harm="Representational: people of some groups are less readily written of as persons.",
        groups="All pairs of descriptors within an axis; template and noun are held fixed.",
        ideal="0 of the descriptor pairs differ; no spread of humanising shifts",
        direction="larger is worse",
        null="Descriptor labels exchanged at random within template and noun.",
        critique="A pseudo-log-likelihood is not a probability of the phrase: tokens are predicted one at a "
        "time from all others, so long words look likely (masking the rest of the word lessens this). "
        "Templates are ours, not those of SEAT; the paper released no code.",
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
        required_columns=("axis", "template", "descriptor", "noun"),
        harmful={"pseudo_log_likelihood_bias": "above", "humanising_spread": "above"},
        limited=pairs_with_own_nouns,
        minimum_detectable=planned_minimum,
        datasets=datasets,
    )


def seat_templates() -> tuple[Template, ...]:
    """Our neutral and humanising templates."""
    return load_templates(kinds=["seat"])


def analyse_phrases(frame: pl.DataFrame, options: AnalysisOptions) -> Analysis:
    """Differences between descriptors in humanising templates, and humanising against neutral ones.

    frame: axis, template, descriptor, noun, humanising, log_likelihood and token_count of the phrase.
    """
    asked = set(frame["template"].unique().to_list())
    kinds = {t.text: t.humanising for t in seat_templates() if t.text in asked}
    result = pseudo_log_likelihood_bias(
        frame,
        humanising=[text for text, humanising in kinds.items() if humanising],
        neutral=[text for text, humanising in kinds.items() if not humanising],
        alpha=options.alpha,
        margin=options.margin,
        contrast_margin=options.valence_margin,
        seed=options.seed,
    )
    rows = corrected_rows(result.bias, measure="pseudo_log_likelihood_bias")
    humanised = frame.filter(
        pl.col("template").is_in([text for text, humanising in kinds.items() if humanising])
    )
    if several_descriptors(humanised):
        published = published_pseudo_log_likelihood_bias(humanised)
        rows += published_rows(
            published, humanised, measure="pseudo_log_likelihood_bias_published", value="log_likelihood"
        )
    rows += valence_rows(
        result.contrast,
        options.valence_margin,
        measure="humanising_spread",
        group_measure="humanising_contrast",
    )
    details = {
        "descriptors": result.bias.descriptors,
        "descriptor_templates": result.bias.descriptor_templates,
        "templates": result.bias.templates,
        "pairs": result.bias.pairs,
        "valence": result.contrast.valence,
    }
    return Analysis(rows, details)
