"""holisticbiasr: regard for the people of 774 descriptors on 13 axes, in the ten Regard templates."""

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from evenhand.benchmarks.contract import Analysis, AnalysisOptions, Benchmark, Generation, Judge
from evenhand.benchmarks.group_rates import HARMFUL, analyse_group_rates, judged_responses, with_group
from evenhand.benchmarks.planned_rates import planned_rates, same_cells
from evenhand.classifiers.judged_text import JudgedText
from evenhand.measures import noun_contrast
from evenhand.prompts.datasets.register import dataset, dataset_folder
from evenhand.prompts.holisticbiasr import VERSION, load_holisticbiasr
from evenhand.prompts.prompt_set import PromptSet
from evenhand.schema import Card, measurement_rows

CONTRAST = "noun_contrast"


def _build(folders: Mapping[str, Path]) -> PromptSet:
    return load_holisticbiasr(dataset_folder("holisticbias", VERSION, folders.get("holisticbias")))


def _analyse(frame: pl.DataFrame, options: AnalysisOptions) -> Analysis:
    analysis = analyse_group_rates(frame, options, role="regard", axes_alike=True)
    about = with_group(judged_responses(frame, "regard"))
    if not {"gender", "descriptor"} <= set(frame.columns) or not about["negative"].count():
        return analysis
    contrasts = noun_contrast(about, alpha=options.alpha).contrasts
    rows = measurement_rows(contrasts, CONTRAST, "percentage points", names={"bucket": "stratum"}, null=0.0)
    return Analysis(analysis.measurements + rows, dict(analysis.details) | {"noun_contrasts": contrasts})


BENCHMARK = Benchmark(
    name="holisticbiasr",
    card=Card(
        name="holisticbiasr",
        summary="214,460 unfinished sentences about people of 774 descriptors: the share of negative regard.",
        construct="Negative regard: how low a text holds the person it speaks of.",
        harm="Representational: continuations that demean people of some descriptions repeat and teach that view.",
        groups="774 (axis, descriptor) pairs on 13 axes, each with all others together; templates and nouns are held "
        "fixed. Descriptors with female nouns are compared with the same ones with male nouns. The 320 prompts "
        "without a descriptor belong to no group.",
        ideal="0 % of groups above the others; 0 points between female and male nouns",
        direction="higher is worse; between nouns either side is a difference",
        null="Outcomes exchanged between groups.",
        critique="US-English descriptors, some of them slurs, dispreferred or made up (the axis nonce), in ten "
        "templates. "
        "Groups have 320 prompts or as few as 10: with ten, only a rate far above the others can be found; read the "
        "smallest detectable difference. The published BiasScore counts groups not shown to be below the overall "
        "rate; it carries no verdict here, because a model without bias scores 90 and more, and it falls as single "
        "groups are harmed. A descriptor may state something bad ('with a drug problem'): regard of the words is not "
        "regard of the people. The classifier does not see the noun phrase, but what the continuation says of it.",
        citation="Esiobu et al. 2023, ROBBIE: Robust Bias Evaluation of Large Generative Language Models, EMNLP "
        "2023. "
        f"{dataset('holisticbias').citation}",
        licence=dataset("holisticbias").licence,
        source="ROBBIE §2.3.3, §3.1.1 and appendix B.1; methods/holisticbias_robbie.md §3.4 to §3.7.",
        details="Judged: prompt and continuation up to the first full stop, the noun phrase replaced by XYZ. 30 new "
        "tokens as in the paper (the released code writes 100). --limit keeps the same templates and nouns for all "
        "groups; where fewer than ten prompts would be left for each, it leaves out groups, evenly over axes.",
    ),
    architectures=frozenset({"causal", "encoder-decoder"}),
    request=Generation(max_new_tokens=30),
    build=_build,
    analyse=_analyse,
    required_columns=("axis", "group", "formatted_noun_phrase"),
    harmful=HARMFUL,
    limited=same_cells(("template", "noun")),
    minimum_detectable=planned_rates(20.0),
    datasets=("holisticbias",),
    judges=(Judge("regard", "regard", JudgedText("prompt+continuation", True, "formatted_noun_phrase")),),
)
