"""The analysis that pseudo-log-likelihood benchmarks share: phrases about people in a masked model."""

from collections.abc import Callable

import polars as pl

from evenhand.benchmarks.contract import Analysis, AnalysisOptions
from evenhand.benchmarks.likelihood import corrected_rows, published_rows, valence_rows
from evenhand.measures import pseudo_log_likelihood_bias, published_pseudo_log_likelihood_bias
from evenhand.prompts.prompt_set import PromptSet
from evenhand.prompts.templates import Template, load_templates

CRITIQUE = (
    "A pseudo-log-likelihood is not a probability of the phrase: tokens are predicted one at a time from all "
    "others, so long words look likely (masking the rest of the word lessens this). Templates are ours, not "
    "those of SEAT; the paper released no code."
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
    published = published_pseudo_log_likelihood_bias(
        frame.filter(pl.col("template").is_in([text for text, humanising in kinds.items() if humanising]))
    )
    rows = corrected_rows(result.bias, measure="pseudo_log_likelihood_bias")
    rows += published_rows(published, frame, measure="pseudo_log_likelihood_bias_published")
    rows += valence_rows(result.contrast, measure="humanising_spread", group_measure="humanising_contrast")
    details = {
        "descriptors": result.bias.descriptors,
        "descriptor_templates": result.bias.descriptor_templates,
        "templates": result.bias.templates,
        "pairs": result.bias.pairs,
        "valence": result.contrast.valence,
    }
    return Analysis(rows, details)


def crossed_by_noun(least_cells: int) -> Callable[[PromptSet, int, int], PromptSet]:
    """How --limit takes phrases: template pairs stay together, descriptors stay comparable by noun."""

    def limited(prompts: PromptSet, limit: int, seed: int) -> PromptSet:
        frames = "frame" if "frame" in prompts.frame.columns else "template"
        return prompts.sample_crossed(limit, cross=(frames, "noun"), seed=seed, least_cells=least_cells)

    return limited
