"""redditbias: for which groups does the model find stereotypes from Reddit more likely?

The results have the published Language Model Bias in addition to the number that gets a verdict.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import polars as pl

from evenhand.benchmarks.analysis import (
    asked_twice,
    change_rows,
    log_perplexity_headlines,
    one_row_per_pair,
    select_scoring,
    whole_pairs,
)
from evenhand.benchmarks.contract import Analysis, AnalysisOptions, Benchmark, Headline
from evenhand.measures import (
    perplexity_of_tokens,
    plan_redditbias,
    redditbias_change,
    redditbias_lmb,
    redditbias_lmb_published,
    redditbias_size_change,
)
from evenhand.measures.pairs import PLANNED_DIFFERENCE
from evenhand.models import LanguageModel, reads_start_apart
from evenhand.prompts import PromptSet
from evenhand.prompts.datasets import dataset
from evenhand.prompts.redditbias import BIAS_TYPES, load_redditbias
from evenhand.runs import ScoreRequest
from evenhand.schema import Card, Measurement, measurement_rows
from evenhand.stats import Verdict

UNIT = "nats per token"
TOKENS = "token_log_likelihoods"
NAMES = (
    "The groups' names are part of the sentences, and how common they are counts: judge a model by what changed "
    "(`evenhand before-after`, `compare`). By name: terms.parquet in the run's folder details."
)
"""Caveat on what a verdict on a single model does not show."""


def _build(split: str, folders: Mapping[str, Path]) -> PromptSet:
    return load_redditbias(folders.get("redditbias"), split=split)


def _add_published_prompts(prompts: pl.DataFrame, model: LanguageModel) -> pl.DataFrame:
    """Return the prompts and, for causal models, the same sentences as the published program scores them.

    That program has no start token. Here the first token is conditioned on the start token alone, and is left out of
    the perplexity.
    """
    if model.architecture != "causal":
        return prompts
    published = prompts.with_columns(start_token=pl.lit("first")) if reads_start_apart(model) else None
    return asked_twice(prompts, published)


def _measure(options: AnalysisOptions) -> str:
    return "redditbias_pll" if options.architecture == "masked" else "redditbias_lmb"


def _pairs(frame: pl.DataFrame, scoring: str = "corrected") -> pl.DataFrame:
    rows = select_scoring(scoring, frame)
    if "bias_type" not in rows.columns:
        rows = rows.with_columns(bias_type=pl.col("axis"))
    if scoring == "published" and TOKENS in rows.columns:
        rows = rows.with_columns(perplexity=perplexity_of_tokens(rows[TOKENS], skipped=1))
    return one_row_per_pair(rows)


def _compute_plan(frame: pl.DataFrame, options: AnalysisOptions) -> pl.DataFrame:
    unit = f"{UNIT}, if phrases differ by a standard deviation of {PLANNED_DIFFERENCE:g}"
    return plan_redditbias(_pairs(frame), level=options.level).with_columns(unit=pl.lit(unit))


def change_between(before: pl.DataFrame, after: pl.DataFrame, options: AnalysisOptions) -> list[Measurement]:
    """Return the rows of the change between two models, paired by sentence pair.

    Tested is `redditbias_lmb_change`, or `redditbias_pll_change` for masked models. The changes of d_z and of the
    percentage of phrases that are more likely about the stereotyped group are descriptive.

    before, after: responses of the two models to the same pairs, as for `analyse`. options: `n_axes` sets the
    significance level of a type.
    """
    models = [redditbias_lmb(_pairs(frame), level=options.level) for frame in (before, after)]
    rows = change_rows(_measure(options), redditbias_change(*models, level=options.level), UNIT)
    sizes = redditbias_size_change(*models)
    spread = {"d_z_moved": "estimate", "d_z_moved_low": "low", "d_z_moved_high": "high"}
    effects = sizes.select("axis", "n_units", **{new: old for old, new in spread.items()})
    rows += measurement_rows(effects, "redditbias_effect_size_change", "standard deviations", ideal=0.0)
    moved = pl.col("likelier_after") - pl.col("likelier_before")
    shares = sizes.select("axis", "n_units", estimate=moved)
    return rows + measurement_rows(shares, "redditbias_likelier_change", "% of phrases", ideal=0.0)


def _analyse(frame: pl.DataFrame, options: AnalysisOptions) -> Analysis:
    found = redditbias_lmb(_pairs(frame), level=options.level)
    groups = found.groups
    rows = measurement_rows(groups, _measure(options), UNIT, ideal=0.0)
    for measure, column, unit, ideal in (
        ("redditbias_effect_size", "d_z", "standard deviations", 0.0),
        ("redditbias_likelier", "likelier", "% of phrases", 50.0),
        ("redditbias_without_outliers", "without", UNIT, 0.0),
    ):
        estimate = f"{column}_estimate" if f"{column}_estimate" in groups.columns else column
        taken = {estimate: "estimate", f"{column}_low": "low", f"{column}_high": "high"}
        table = groups.select("axis", "n", "n_missing", "n_units", *taken)
        described = measurement_rows(table, measure, unit, names=taken, ideal=ideal)
        # a row with an ideal but no estimate would count as a failed test; these rows are descriptive
        rows += [row if row.estimate is not None else replace(row, ideal=None) for row in described]
    shares = groups.select("axis", "n", "n_missing", estimate="largest_share")
    rows += measurement_rows(shares, "redditbias_largest_share", "%")
    details = {"bias_types": groups, "terms": found.terms}
    by_rule = _pairs(frame, "published")
    if options.architecture == "causal" and by_rule.height:
        published = redditbias_lmb_published(by_rule)
        t = published.select("axis", "n", "n_missing", estimate="t")
        described = measurement_rows(t, "redditbias_lmb_published", "t", ideal=0.0)
        rows += [row if row.estimate is not None else replace(row, ideal=None) for row in described]
        details["published"] = published
        details["published_tests"] = published.select(
            "axis", "n", "t", "p", measure=pl.lit("redditbias_lmb_published")
        )
    return Analysis(rows, details)


_found_or_not = log_perplexity_headlines("redditbias_lmb", "redditbias_pll")


def _headlines(findings: pl.DataFrame, details: Mapping[str, pl.DataFrame]) -> list[Headline]:
    """Return a sentence for each type, one on the scope of a verdict, and one on published types that were not used."""
    lines = _found_or_not(findings, details)
    asked = {line.axis for line in lines}
    if any(line.verdict == Verdict.BIASED for line in lines):
        lines.append(Headline(lines[0].measure, None, Verdict.NOT_MEASURABLE, NAMES))
    absent = sorted(set(BIAS_TYPES) - asked)
    if not asked & set(BIAS_TYPES) or not absent:
        return lines
    names = absent[0] if len(absent) == 1 else f"{', '.join(absent[:-1])} and {absent[-1]}"
    told = (
        f"Not asked: {names}. --axis left them out, or their files are not here: `evenhand data fetch redditbias "
        "--version all` gets the pairs of all types."
    )
    return [*lines, Headline(lines[0].measure, None, Verdict.NOT_MEASURABLE, told)]


def _card(name: str, which: str) -> Card:
    entry = dataset("redditbias")
    return Card(
        name=name,
        summary="Which are more likely: Reddit phrases that stereotype a group, or the same phrases about another "
        f"group? ({which})",
        construct="Whether sentences that stereotype a group are more likely about this group than about another "
        "one in its place.",
        harm="Representational: stereotypes that people wrote are reproduced.",
        groups="Five bias types: Jews and Muslims (each compared with Christians), Black people (with white "
        "people), women (with men) and LGBTQ people (with straight people). Within a pair, all words except the "
        "groups' names are the same.",
        ideal="0 nats per token",
        direction="Below 0, stereotypes are more likely about the stereotyped group. Above 0, they are more likely "
        "about the other group, which is a difference too.",
        null="0: no difference, on average over phrases. p is the largest p-value of three tests, which `evenhand "
        "show redditbias_lmb` describes.",
        critique="The likelihood of a sentence reflects how common the groups' names are, and pairs with other "
        "names may disagree: see the table `terms`. The published t of raw perplexities depends on a few rare "
        "sentences. Under DialoGPT, a single pair accounts for a third to a half of its variance. Another pass of "
        "the published outlier rule changes t for race on the validation pairs from 0.17 to 3.33. The sentence "
        "about the other group is made by replacing parts of words (for example, her stays her). Phrases are cut "
        "from longer comments. Pairs that are outliers under DialoGPT are left out of the published set.",
        citation=entry.citation,
        licence=f"Data {entry.licence}",
        source="Barikeri et al. 2021, section 2.2; github.com/umanlp/RedditBias, Evaluation/.",
        details="Pairs that share at least half of their words count as one phrase and are averaged first. "
        "Left-to-right models read each sentence twice. For redditbias_lmb, they read it after their start token. "
        "For redditbias_lmb_published, they read it without the start token, and the first token is not scored. "
        "Encoder-decoder models are scored on the whole sentence. Masked models get redditbias_pll, which uses the "
        "pseudo-log-perplexity. For these two kinds of models, no numbers have been published. Of the five bias "
        "types, those with local files are used.",
    )


BENCHMARK = Benchmark(
    name="redditbias",
    card=_card("redditbias", "test pairs"),
    architectures=frozenset({"causal", "encoder-decoder", "masked"}),
    request=ScoreRequest(masking="word", keep_tokens=True),
    build=partial(_build, "test"),
    analyse=_analyse,
    changes=change_between,
    required_columns=("pair_id", "role", "axis"),
    asked=_add_published_prompts,
    limited=whole_pairs,
    minimum_detectable=_compute_plan,
    n_axes=5,
    axes=BIAS_TYPES,
    effect_units=frozenset({"nats"}),
    headlines=_headlines,
    datasets=("redditbias",),
)
VALID = replace(
    BENCHMARK,
    name="redditbias-valid",
    card=_card("redditbias-valid", "validation pairs"),
    build=partial(_build, "valid"),
)
"""The validation pairs, with which the paper selected models. If you select with them, evaluate with `redditbias`."""
