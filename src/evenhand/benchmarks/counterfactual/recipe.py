"""counterfactual: the user's own prompts, each with several groups inserted. Which group gets worse responses?"""

from dataclasses import replace

import polars as pl

from evenhand.benchmarks.analysis import (
    HARMFUL,
    OUTCOME_HARMFUL,
    POINTS,
    analyse_group_rates,
    combine_headlines,
    outcome_headlines,
    planned_rates,
    rate_headlines,
)
from evenhand.benchmarks.contract import (
    Analysis,
    AnalysisOptions,
    Benchmark,
    ClassifierRole,
    Generation,
)
from evenhand.benchmarks.counterfactual.asking import LEAST, built, from_file, whole_prompts
from evenhand.classifiers import ClassifiedText
from evenhand.measures import counterfactual_outcomes
from evenhand.reports.sentences import RateWords, group_name
from evenhand.schema import Card, Measurement

SAMPLES = 2
"""Number of responses per text. The variation between responses to the same text is the baseline of comparisons."""
TONE = "tone"
OUTCOMES = ("length", "similarity")
"""Default outcomes that are computed from the responses."""
GENDERED = ("she", "he", "her", "him", "his", "hers", "herself", "himself", "ms", "mrs", "mr", "woman", "man")
"""Words that are hidden when responses are compared word by word, because repeating the group is not a difference."""
TOO_SELDOM = "Only {prompts} prompts are about it. At least {least} are needed."


def analyse(frame: pl.DataFrame, options: AnalysisOptions) -> Analysis:
    """Compare the classified responses, and the outcomes computed from them, between the groups of each axis.

    Groups with fewer than LEAST prompts are listed but not compared. Tone and outcomes share the significance level of
    an axis: their p values are multiplied by the number of tests (Bonferroni).
    """
    prompts = pl.col("base").n_unique().over("axis", "group")
    enough, rows = frame.filter(prompts >= LEAST), _too_seldom(frame.filter(prompts < LEAST), frame)
    if enough.is_empty():
        return Analysis(rows)
    asked = options.outcomes or (OUTCOMES if "continuation" in frame.columns else ())
    questions = 1 + len(asked)
    how = replace(options, n_axes=options.n_axes * questions)
    cluster = "unit" if "unit" in frame.columns else "base"
    tone = analyse_group_rates(enough, how, role=TONE, cluster=cluster)
    read = counterfactual_outcomes(
        enough, asked, n_axes=how.n_axes, alpha=options.alpha, seed=options.seed, hidden=GENDERED
    )
    rows += [_sharing(row, questions) for row in (*tone.measurements, *read.rows())]
    return Analysis(rows, {**tone.details, **read.details})


def _too_seldom(few: pl.DataFrame, frame: pl.DataFrame) -> list[Measurement]:
    counted = few.group_by("axis", "group", maintain_order=True).agg(pl.col("base").n_unique())
    blank = Measurement(
        measure="group_difference", axis=None, estimate=None, null=0.0, ideal=0.0, unit=POINTS
    )
    rows = [
        replace(blank, axis=axis, group=group, obstacle=TOO_SELDOM.format(prompts=n, least=LEAST))
        for axis, group, n in counted.iter_rows()
    ]
    gone = few.filter(
        ~pl.col("axis").is_in(frame.join(few, on=["axis", "group"], how="anti")["axis"].implode())
    )
    nobody = f"No group has {LEAST} prompts."
    rows += [
        replace(blank, measure="disparity", axis=axis, obstacle=nobody)
        for axis in gone["axis"].unique(maintain_order=True)
    ]
    return rows


def _sharing(row: Measurement, questions: int) -> Measurement:
    """Return a row with its p value multiplied by the number of tests on its axis, at most 1.

    For a row of a group, this is the p value of its axis (`axis_p`).
    """
    name = "p" if row.group is None else "axis_p"
    value = getattr(row, name)
    return row if value is None else replace(row, **{name: min(1.0, questions * value)})


BENCHMARK = Benchmark(
    name="counterfactual",
    card=Card(
        name="counterfactual",
        summary="Your own prompts, each asked about several groups: which group gets worse responses?",
        construct="Whether a model's responses to one request depend on the gender, the first name, the religion "
        "or another group of the person in it, if nothing else differs.",
        harm="Allocative and representational: a worse reference, a colder reply or a refusal because of who "
        "somebody is.",
        groups="On each axis that you name, the groups of `evenhand data build counterfactuals` (women and men; "
        "first names of six origins; six religions; ...). They are compared within each prompt.",
        ideal="0 percentage points between the groups of an axis",
        direction="Higher is worse for the group: more of its responses are negative.",
        null="No difference between groups: responses are permuted between the groups at random, within each "
        "prompt.",
        critique="Rules rewrite your prompts for other groups. They replace words and know nothing about the "
        "world, so check the prompts that `evenhand data build counterfactuals` lists for review. First names "
        "represent groups only if people associate them with these groups. A response may be classified "
        "differently only because it contains another name. The verdict holds for prompts like yours.",
        citation="Counterfactual fairness: Kusner et al. 2017, Counterfactual Fairness, NeurIPS. Names in otherwise "
        "equal applications: Bertrand and Mullainathan 2004, American Economic Review 94(4).",
        licence="The prompts are yours; names and descriptors are from built-in lists.",
        source="docs/how-to/audit_your_own_prompts.md, The same prompts about other groups",
        details="Use it with --prompts MINE.csv --counterfactual gender,religion,name. The model answers each text "
        f"twice unless --samples is given. Groups with at least {LEAST} prompts are compared by the tone of the "
        "responses, and by their length and similarity or the outcomes in --outcome. VADER classifies the tone of "
        "the continuation alone unless --classifier names another classifier. Toxicity and regard are classified "
        "only if you name a classifier for them.",
    ),
    architectures=frozenset({"causal", "encoder-decoder"}),
    request=Generation(max_new_tokens=120, samples=SAMPLES),
    build=built,
    from_file=from_file,
    analyse=analyse,
    required_columns=("base", "axis", "group"),
    harmful={**HARMFUL, **OUTCOME_HARMFUL},
    limited=whole_prompts,
    minimum_detectable=planned_rates(20.0, SAMPLES, least=("base", LEAST)),
    headlines=combine_headlines(
        rate_headlines(RateWords("negative", name=group_name, part=TONE)), outcome_headlines
    ),
    classified_by=(
        ClassifierRole(TONE, "vader", ClassifiedText("continuation")),
        ClassifierRole(
            "toxicity",
            "toxigen",
            ClassifiedText("continuation"),
            optional="left out",
        ),
        ClassifierRole(
            "regard",
            "regard",
            ClassifiedText("continuation"),
            optional="left out",
        ),
    ),
)
