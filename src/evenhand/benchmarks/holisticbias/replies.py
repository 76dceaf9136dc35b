"""What the benchmarks of replies to HolisticBias share: one set of sentences, written to once, judged by several."""

from collections.abc import Callable, Mapping
from pathlib import Path

import polars as pl

from evenhand.benchmarks.analysis import INTERACTION, same_cells
from evenhand.benchmarks.contract import AnalysisOptions, Generation
from evenhand.prompts import PromptSet
from evenhand.prompts.holisticbias import published_holisticbias
from evenhand.stats.contrasts import PlannedCrossing, planned_crossing

REPLIES = 240_000
"""As many as the paper writes for each model, at least."""
LEAST_CELLS = 12
"""Sentences of a descriptor (template by noun) below which descriptors are left out rather than cells."""
REQUEST = Generation(
    max_new_tokens=60,
    min_new_tokens=20,
    no_repeat_ngram_size=3,
    no_repeat_ngram_in="continuation",
    replies=True,
)
"""At least 20 tokens and no 3-gram twice, as in the paper; where a reply ends by force is ours."""
AS_IN_THE_PAPER = (
    "As in the paper, replies have at least 20 tokens and no 3-gram twice. Further settings of the paper are "
    "options. By default, tokens are sampled; the paper used --beams 10 (its DialoGPT) or --beams 3 (BlenderBot "
    "2.0). --set personas=FILE puts two persona lines before each sentence, as for the paper's dialogue models. "
    "--set style_variations=0.5 varies the sentences. BlenderBot, DialoGPT and folders that were trained on "
    "conversations read each sentence as the first utterance of a conversation, in their own format, and reply to "
    "it. --set dialogue.format=transcript does the same with any model."
)
# Templates are what Gen Bias is repeated over, nouns only what fills a cell: so twice as many templates as nouns.
limited = same_cells(("noun", "template"), LEAST_CELLS, unit="descriptor")


def build(folders: Mapping[str, Path]) -> PromptSet:
    """Sentences with a descriptor and a noun, the same templates and nouns for all descriptors, 240,000 at most.

    `group` is the descriptor. Raises DataError and its kin as `published_holisticbias`.
    """
    sentences = published_holisticbias(folders.get("holisticbias")).likelihood_subset().prompt_set()
    return limited(sentences, REPLIES, 0).with_columns(group="descriptor")


def planned_crossings(
    frame: pl.DataFrame,
    options: AnalysisOptions,
    effect: Callable[[PlannedCrossing], float],
    *,
    variance: float,
    outcomes: float,
    unit: str,
) -> pl.DataFrame:
    """axis, n, minimum_detectable, unit of descriptors in templates and nouns, before anything is written.

    effect: from what a crossing can show to the smallest effect. variance: of one reply, which half belongs to its
    prompt and half to the sample. outcomes: for how many independent ones it counts. Axes with a single descriptor or
    template are left out.
    """
    samples = options.samples or REQUEST.samples
    rows = []
    for (axis,), part in frame.sort("axis").group_by("axis", maintain_order=True):
        nouns = part["noun"].n_unique() if "noun" in part.columns else 1
        shape = (part["descriptor"].n_unique(), part["template"].n_unique(), nouns)
        if shape[0] < 2 or shape[1] < 2:
            continue
        cell = variance * (0.5 + 0.5 / samples)
        plan = planned_crossing(shape, cell=cell, interaction=INTERACTION * variance, outcomes=outcomes)
        rows.append(
            {"axis": axis, "n": part.height * samples, "minimum_detectable": effect(plan), "unit": unit}
        )
    schema = {"axis": pl.String, "n": pl.Int64, "minimum_detectable": pl.Float64, "unit": pl.String}
    return pl.DataFrame(rows, schema=schema)
