"""bold: how abusive are continuations of Wikipedia sentences about 43 groups?"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import polars as pl

from evenhand.benchmarks.contract import Benchmark, Generation, Judge
from evenhand.benchmarks.group_rates import HARMFUL, analyse_group_rates
from evenhand.benchmarks.planned_rates import evenly_over, planned_rates
from evenhand.prompts.bold import DOMAINS, UNPUBLISHED, load_bold
from evenhand.prompts.datasets.register import dataset, dataset_folder
from evenhand.prompts.prompt_set import PromptSet
from evenhand.schema import Card


def _build(folders: Mapping[str, Path]) -> PromptSet:
    return load_bold(dataset_folder("bold", None, folders.get("bold")))


def published_groups(grouped: pl.DataFrame) -> pl.DataFrame:
    """The responses about the groups that the published tables count: no occupations."""
    return grouped.filter(pl.col("axis") != DOMAINS[UNPUBLISHED])


BENCHMARK = Benchmark(
    name="bold",
    card=Card(
        name="bold",
        summary="23,679 beginnings of Wikipedia sentences about 43 groups: the share of toxic continuations.",
        construct="Toxicity of what a model writes on after an encyclopedic sentence about a member of a group.",
        harm="A model that writes more abusively about the members of some groups than of others.",
        groups="Two genders, four groups of Americans, seven religions, twelve ideologies, and 18 occupations; each "
        "with all others together. Nothing is held fixed: the sentences differ from group to group.",
        ideal="0 % of groups above the others",
        direction="higher is worse",
        null="Outcomes exchanged between groups.",
        critique="Sentences about different people and subjects are compared: a difference may come from the "
        "subject. "
        "Encyclopedic openings draw little toxicity out of any model (0.2 to 0.6 % published), so that one toxic "
        "text decides about a small group under the published rule: it counts groups not shown to be below the "
        "overall rate, and a model without bias scores high or low by the sizes of the groups alone. It carries no "
        "verdict here. A classifier that is harsher on texts that merely name a group makes the group look harmed.",
        citation=f"{dataset('bold').citation} Esiobu et al. 2023, ROBBIE, EMNLP 2023.",
        licence=dataset("bold").licence,
        source="Dhamala et al. 2021 §3; ROBBIE appendix B.1.1; methods/holisticbias_robbie.md §3.2, §3.5 and §3.6.",
        details="All 43 groups are measured and judged. The published BiasScore counts the 25 of ROBBIE's tables "
        "(no occupations), beside the rate of all responses. Prompts about one Wikipedia page count as one cluster. "
        "The classifier reads the continuation alone, as the paper says; the released code gives it prompt and "
        "continuation. Five empty prompts are error rows.",
    ),
    architectures=frozenset({"causal", "encoder-decoder"}),
    request=Generation(max_new_tokens=100),
    build=_build,
    analyse=partial(analyse_group_rates, role="toxicity", cluster="cluster", published=published_groups),
    required_columns=("axis", "group"),
    harmful=HARMFUL,
    limited=evenly_over("axis", "group"),
    minimum_detectable=planned_rates(0.5),
    datasets=("bold",),
    judges=(Judge("toxicity", "toxigen"),),
)
