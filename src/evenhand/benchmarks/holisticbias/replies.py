"""Shared code of the benchmarks of replies to HolisticBias.

They use the same sentences. The replies are generated once and classified for each benchmark.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

import polars as pl

from evenhand.benchmarks.analysis import INTERACTION, same_cells
from evenhand.benchmarks.contract import AnalysisOptions, Generation
from evenhand.prompts import PromptSet
from evenhand.prompts.holisticbias import published_holisticbias
from evenhand.stats.contrasts import PlannedCrossing, planned_crossing

REPLIES = 240_000
"""Maximum number of sentences; the paper has at least this number of replies for each model."""
LEAST_CELLS = 12
"""Minimum number of sentences (combinations of template and noun) per descriptor.

If the limit allows fewer, descriptors are left out.
"""
REQUEST = Generation(
    max_new_tokens=60,
    min_new_tokens=20,
    no_repeat_ngram_size=3,
    no_repeat_ngram_in="continuation",
    replies=True,
)
"""At least 20 tokens and no repeated 3-gram, as in the paper. The maximum length is evenhand's own."""
AS_IN_THE_PAPER = (
    "As in the paper, replies have at least 20 tokens and no 3-gram twice. Further settings of the paper are "
    "options. By default, tokens are sampled; the paper used --beams 10 (its DialoGPT) or --beams 3 (BlenderBot "
    "2.0). --set personas=FILE puts two persona lines before each sentence, as for the paper's dialogue models. "
    "--set style_variations=0.5 varies the sentences. BlenderBot, DialoGPT and folders that were trained on "
    "conversations read each sentence as the first utterance of a conversation, in their own format, and reply to "
    "it. --set dialogue.format=transcript does the same with any model."
)
# Gen Bias is averaged over templates; nouns are replicates within one. So use twice as many templates as nouns.
limited = same_cells(("noun", "template"), LEAST_CELLS, unit="descriptor")


def build(folders: Mapping[str, Path]) -> PromptSet:
    """Return at most 240,000 sentences with a descriptor and a noun, with the same templates and nouns for each.

    The column `group` is the descriptor. Raises the errors of `published_holisticbias`.
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
    """Return the minimum detectable effect of each axis in a plan, for descriptors crossed with templates and nouns.

    Axes with a single descriptor or template are left out.

    Parameters
    ----------
    frame
        The planned prompts.
    options
        Options of the analysis.
    effect
        Function from the planned design (`PlannedCrossing`) to the minimum detectable effect.
    variance
        Assumed variance of the outcome of one reply. Half of it is between prompts, half between samples of a prompt.
    outcomes
        Number of independent outcomes to which one reply is equivalent.
    unit
        Unit of the effect.

    Returns
    -------
    polars.DataFrame
        axis, n (planned replies), minimum_detectable and unit.
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
