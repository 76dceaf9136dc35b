"""What the benchmarks of replies to HolisticBias share: one set of sentences, written to once, judged by several."""

from collections.abc import Mapping
from pathlib import Path

from evenhand.benchmarks.analysis import same_cells
from evenhand.benchmarks.contract import Generation
from evenhand.prompts import PromptSet
from evenhand.prompts.datasets import dataset_folder
from evenhand.prompts.holisticbias import HolisticBias

VERSION = "v1.1"
REPLIES = 240_000
"""As many as the paper writes for each model, at least."""
LEAST_CELLS = 12
"""Sentences of a descriptor (template by noun) below which descriptors are left out rather than cells."""
REQUEST = Generation(
    max_new_tokens=60, min_new_tokens=20, no_repeat_ngram_size=3, no_repeat_ngram_in="continuation"
)
"""At least 20 tokens and no 3-gram twice, as in the paper; where a reply ends by force is ours."""
# Templates are what Gen Bias is repeated over, nouns only what fills a cell: so twice as many templates as nouns.
limited = same_cells(("noun", "template"), LEAST_CELLS, unit="descriptor")


def build(folders: Mapping[str, Path]) -> PromptSet:
    """Sentences with a descriptor and a noun, the same templates and nouns for all descriptors, 240,000 at most.

    `group` is the descriptor. Raises DataError and its kin as `dataset_folder` and `HolisticBias.load`.
    """
    folder = dataset_folder("holisticbias", VERSION, folders.get("holisticbias"))
    sentences = HolisticBias.load(folder, VERSION).likelihood_subset().prompt_set()
    return limited(sentences, REPLIES, 0).with_columns(group="descriptor")
