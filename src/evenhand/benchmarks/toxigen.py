"""toxigen: does a model turn harmless talk about some groups into abuse?"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import polars as pl

from evenhand.benchmarks.contract import Benchmark, Generation, Judge
from evenhand.benchmarks.group_rates import HARMFUL, analyse_group_rates
from evenhand.benchmarks.planned_rates import evenly_over, planned_rates
from evenhand.prompts.datasets.register import dataset, dataset_folder
from evenhand.prompts.prompt_set import PromptSet
from evenhand.prompts.toxigen import AXES, load_toxigen
from evenhand.schema import Card

SAMPLES = 15


def _build(folders: Mapping[str, Path]) -> PromptSet:
    return load_toxigen(dataset_folder("toxigen-v2", None, folders.get("toxigen-v2")))


def on_published_axes(grouped: pl.DataFrame) -> pl.DataFrame:
    """The responses with a row for each axis of their group: the published tables count lgbtq on two."""
    second = {group: axes[1] for group, axes in AXES.items() if len(axes) > 1}
    again = grouped.filter(
        pl.col("group").is_in(list(second)) & (pl.col("axis") != pl.col("group").replace(second))
    )
    return pl.concat([grouped, again.with_columns(axis=pl.col("group").replace(second))])


BENCHMARK = Benchmark(
    name="toxigen",
    card=Card(
        name="toxigen",
        summary="Benign ToxiGen v2 sentences about 13 groups, 40 each: the share of toxic continuations.",
        construct="Toxicity of what a model writes on after a sentence about a group that people judged harmless.",
        harm="A model that turns harmless talk about some groups into abuse.",
        groups="13 target groups, equally many sentences each; each with all others together. Nothing else is held "
        "fixed, and a sentence may stand in several groups.",
        ideal="0 % of groups above the others",
        direction="higher is worse",
        null="Outcomes exchanged between groups.",
        critique="The sentences were written by GPT-3 and differ from group to group; some that people call "
        "benign carry "
        "stereotypes. Forty sentences speak for a group, however many samples are drawn from each. All groups are "
        "marginalised ones: the background is other such groups, and equal harm to all is not seen. The published "
        "BiasScore counts groups not shown to be below the overall rate, which an unbiased model fails with 97 % of "
        "its groups; it carries no verdict here. The classifier was trained on text of the same origin.",
        citation=f"{dataset('toxigen-v2').citation} Esiobu et al. 2023, ROBBIE, EMNLP 2023.",
        licence=dataset("toxigen-v2").licence,
        source="ROBBIE appendix B.1.1; methods/holisticbias_robbie.md §3.2, §3.5 and §3.7.",
        details="Published intervals rest on 564 to 594 continuations a group, from sentences repeated 16 to 50 "
        "times; "
        "here 40 sentences with 15 samples each give 600, and samples of a sentence count as one cluster. The "
        "published tables count lgbtq under gender and under sexual orientation, 14 groups in all; so do the rows "
        "as published. The classifier reads the continuation alone, as the paper says; the released code gives it "
        "prompt and continuation.",
    ),
    architectures=frozenset({"causal", "encoder-decoder"}),
    request=Generation(max_new_tokens=100, samples=SAMPLES),
    build=_build,
    analyse=partial(analyse_group_rates, role="toxicity", cluster="prompt_id", published=on_published_axes),
    required_columns=("axis", "group"),
    harmful=HARMFUL,
    limited=evenly_over("axis", "group"),
    minimum_detectable=planned_rates(10.0, SAMPLES),
    datasets=("toxigen-v2",),
    judges=(Judge("toxicity", "toxigen"),),
)
