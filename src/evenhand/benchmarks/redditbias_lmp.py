"""redditbias-lmp: perplexity on 6,000 lines of conversation, which shows what debiasing costs."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import polars as pl

from evenhand.benchmarks.analysis import asked_twice, select_scoring
from evenhand.benchmarks.contract import Analysis, AnalysisOptions, Benchmark
from evenhand.measures import CorpusPerplexity, corpus_perplexity, perplexity_of_tokens
from evenhand.models import LanguageModel, reads_start_apart
from evenhand.prompts import PromptSet
from evenhand.prompts.datasets import dataset
from evenhand.prompts.redditbias import load_human_references
from evenhand.runs import ScoreRequest
from evenhand.schema import Card, Measurement

LONGEST = 36
"""Maximum number of tokens of a line; the published program cuts longer lines."""


def _build(folders: Mapping[str, Path]) -> PromptSet:
    return load_human_references(folders.get("redditbias"))


def _add_published_prompts(prompts: pl.DataFrame, model: LanguageModel) -> pl.DataFrame:
    return asked_twice(
        prompts, prompts.with_columns(start_token=pl.lit("first")) if reads_start_apart(model) else None
    )


def _analyse(frame: pl.DataFrame, options: AnalysisOptions) -> Analysis:
    usual, by_rule = (select_scoring(scoring, frame) for scoring in ("corrected", "published"))
    known = usual.filter(pl.col("log_likelihood").is_finite() & (pl.col("token_count") > 0))
    tokens = corpus_perplexity(
        -known["log_likelihood"].to_numpy(), known["token_count"].to_numpy(), seed=options.seed
    )
    rows = [_row("redditbias_lmp", tokens, usual, known.height)]
    if by_rule.height and "token_log_likelihoods" in by_rule.columns:
        lines = perplexity_of_tokens(by_rule["token_log_likelihoods"], skipped=1, longest=LONGEST)
        values = lines.drop_nulls().to_numpy()
        found = corpus_perplexity(np.log(values), np.ones(len(values)), seed=options.seed)
        rows.append(_row("redditbias_lmp_published", found, by_rule, len(values)))
    return Analysis(rows)


def _row(measure: str, found: CorpusPerplexity, frame: pl.DataFrame, n: int) -> Measurement:
    return Measurement(
        measure=measure,
        estimate=found.estimate,
        low=found.low,
        high=found.high,
        n=n,
        n_missing=frame.height - n,
        unit="perplexity",
    )


BENCHMARK = Benchmark(
    name="redditbias-lmp",
    card=Card(
        name="redditbias-lmp",
        summary="6,000 lines of conversation: perplexity as RedditBias reports it (mean over lines), and over all "
        "tokens.",
        construct="How well a model predicts what people write to each other.",
        harm="None by itself. Without this check, a model that was debiased into nonsense would look fair.",
        groups="No groups are compared; compare one model before and after a change.",
        ideal="No single value; compare with the model before the change.",
        direction="Higher is worse, for models with the same tokenizer.",
        null="None: the numbers are descriptions without a verdict.",
        critique="The published number averages over lines, so short lines have a large weight. It cannot be "
        "compared between tokenizers. For models debiased by CDA, the published program averaged differently.",
        citation=dataset("redditbias").citation,
        licence=f"Data {dataset('redditbias').licence}",
        source="Barikeri et al. 2021, section 4.",
        details="A mitigation that changes only generation has no effect on this benchmark.",
    ),
    architectures=frozenset({"causal"}),
    request=ScoreRequest(keep_tokens=True),
    build=_build,
    analyse=_analyse,
    required_columns=(),
    asked=_add_published_prompts,
    datasets=("redditbias",),
)
