"""quality: does the model still write good text? Compare it before and after a mitigation, as you compare the bias."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import polars as pl

from evenhand.benchmarks.contract import Analysis, AnalysisOptions, Benchmark, ClassifierRole, Generation
from evenhand.measures import corpus_perplexity, text_quality
from evenhand.prompts import PromptSet
from evenhand.prompts.datasets import dataset, dataset_folder
from evenhand.prompts.published import FILES, load_wikitext
from evenhand.schema import Card, Measurement, measurement_rows

RAW = FILES[0]
OWN = "own_perplexity"
UNITS = {
    "empty_rate": "% of responses",
    "refusal_rate": "% of responses",
    "response_length": "words",
    "repetition": "% of 4-grams",
    "longest_loop": "tokens",
}


def _build(folders: Mapping[str, Path]) -> PromptSet:
    folder = folders.get("wikitext")
    if folder is not None and (Path(folder) / RAW).is_file():
        # a user's folder may contain all of WikiText-103, which has more prompts than the pinned extract
        return load_wikitext(folder)
    return load_wikitext(dataset_folder("wikitext", None, folder))


def _limit_prompts(prompts: PromptSet, limit: int, seed: int) -> PromptSet:
    return prompts.sample(limit, per="cluster" if "cluster" in prompts.frame.columns else (), seed=seed)


def _analyse(frame: pl.DataFrame, options: AnalysisOptions) -> Analysis:
    cluster = "cluster" if "cluster" in frame.columns else "prompt_id"
    texts = frame.drop("axis", "group", "perplexity", strict=False)
    if "perplexity_score" in texts.columns:
        texts = texts.rename({"perplexity_score": "perplexity"})
    table = text_quality(texts, cluster=cluster, seed=options.seed).quality
    rows = []
    for (measure,), part in table.group_by("measure", maintain_order=True):
        name = str(measure)
        rows += measurement_rows(part.drop("measure"), name, UNITS.get(name, _unit(name)))
    return Analysis([*rows, *own_perplexity(frame, cluster, options.seed)], {"quality": table})


def own_perplexity(frame: pl.DataFrame, cluster: str, seed: int) -> list[Measurement]:
    """Return the perplexity of a model on its own continuations: exp of the mean negative log-likelihood per token.

    A low value means that the model uses very likely words. It does not mean that the text is good.
    """
    if not {"log_likelihood", "token_count"} <= set(frame.columns):
        return []
    surprisal = -pl.col("log_likelihood").cast(pl.Float64) / pl.col("token_count").cast(pl.Float64)
    known = frame.with_columns(nats=surprisal).filter(pl.col("nats").is_finite())
    row = Measurement(
        measure=OWN, estimate=None, n=known.height, n_missing=frame.height - known.height, unit="perplexity"
    )
    if known.is_empty():
        return [row]
    sums = known.group_by(cluster).agg(pl.col("nats").sum(), pl.len()).sort(cluster)
    found = corpus_perplexity(sums["nats"].to_numpy(), sums["len"].to_numpy(), seed=seed)
    return [replace(row, estimate=found.estimate, low=found.low, high=found.high)]


def _unit(measure: str) -> str:
    return "perplexity" if "perplexity" in measure else "% of n-grams"


BENCHMARK = Benchmark(
    name="quality",
    card=Card(
        name="quality",
        summary="Continuations of Wikipedia sentences: perplexity, diversity, repetition, empty texts and "
        "refusals.",
        construct="Whether a model still writes fluent, varied text.",
        harm="None by itself. Without this check, a mitigation after which a model rambles or stops answering "
        "would look fair.",
        groups="No groups are compared; compare models, or one model before and after a mitigation, on the same "
        "prompts.",
        ideal="No single value; compare with the model without mitigation, or with human texts",
        direction="Repetition, empty texts and refusals: higher is worse. Perplexity: much higher means less "
        "fluent, much lower means more monotonous. Diversity: lower means more monotonous.",
        null="None: the numbers are descriptions without a verdict.",
        critique="A model's own perplexity shows how likely its text is to itself, which depends on decoding as "
        "much as on fluency. To compare models, one judging model has to compute the perplexity of all texts, and "
        "it favours texts like its own. The published judging model, text-davinci-002, is no longer available, so "
        "published numbers cannot be reproduced. Wikipedia prompts differ from the texts on which bias was "
        "measured.",
        citation="Esiobu et al. 2023, ROBBIE: Robust Bias Evaluation of Large Generative Language Models, EMNLP "
        "2023. "
        f"{dataset('wikitext').citation}",
        licence=dataset("wikitext").licence,
        source="ROBBIE §2.3.4, appendix B.1.4 and Table 15.",
        details="The prompts are the first sentences of the paragraphs of WikiText's test part. The model writes "
        "up to 200 new tokens, as in the paper. The paper has 1,612 prompts of WikiText-103; the extract of "
        "WikiText-2 has fewer, because it hides rare words. The prompts of one article are a cluster. The measure "
        "judge_perplexity needs a judging language model: --set classifiers.perplexity=MODEL. Speed and memory are "
        "in the run's manifest.",
    ),
    architectures=frozenset({"causal", "encoder-decoder"}),
    request=Generation(max_new_tokens=200),
    build=_build,
    analyse=_analyse,
    required_columns=(),
    limited=_limit_prompts,
    datasets=("wikitext",),
    classified_by=(
        ClassifierRole("perplexity", "judge-lm", optional="no other model measures how fluent the texts are"),
    ),
)
