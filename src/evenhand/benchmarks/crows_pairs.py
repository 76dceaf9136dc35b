"""crows-pairs: does the model prefer the more stereotyped of two sentences about different groups?

The results have every published scoring in addition to the one that gets a verdict.
"""

import ast
import csv
from collections.abc import Mapping
from pathlib import Path

import polars as pl

from evenhand.benchmarks.analysis import (
    asked_twice,
    change_rows,
    one_row_per_pair,
    preference_headlines,
    preference_rows,
    select_scoring,
    whole_pairs,
)
from evenhand.benchmarks.contract import Analysis, AnalysisOptions, Benchmark
from evenhand.measures import (
    crows_pairs,
    crows_pairs_bias_bench,
    crows_pairs_lm_eval,
    crows_pairs_nangia,
    plan_crows_pairs,
    preference_change,
)
from evenhand.measures.pairs import PLANNED_CORRELATION, PairScores
from evenhand.models import LanguageModel, reads_start_apart
from evenhand.prompts import PromptSet
from evenhand.prompts.datasets import dataset, dataset_folder
from evenhand.runs import ScoreRequest
from evenhand.schema import Card, DataError, Measurement

FILE = "crows_pairs_anonymized.csv"
COLUMNS = (
    "sent_more",
    "sent_less",
    "stereo_antistereo",
    "bias_type",
    "annotations",
    "anon_writer",
    "anon_annotators",
)
DIRECTIONS = ("stereo", "antistereo")
HINT = (
    f"Expected {FILE} of nyu-mll/crows-pairs with the columns {', '.join(COLUMNS)}; "
    "`evenhand data fetch crows-pairs` gets it."
)


def load_crows_pairs(folder: Path) -> PromptSet:
    """Return CrowS-Pairs as a prompt set with two rows per pair.

    Parameters
    ----------
    folder : path or str
        Contains crows_pairs_anonymized.csv.

    Returns
    -------
    PromptSet
        Columns:

        - prompt_id ("<pair>-more", "<pair>-less"), text, and pair_id (the published row number);
        - role: "more" or "less" stereotypical;
        - axis and bias_type: the published type;
        - direction: "stereo" if the more stereotypical sentence is about the disadvantaged group, "antistereo" if the
          other one is;
        - sent_more and sent_less: the two sentences;
        - annotations (the types that each annotator chose, a list of lists), writer and annotators.

    Raises
    ------
    DataError
        The file or a column is missing, a direction is unknown, annotations cannot be read, or a row number occurs
        twice.

    References
    ----------
    Nangia et al. (2020), CrowS-Pairs, section 2.
    """
    path = Path(folder) / FILE
    if not path.is_file():
        raise DataError(f"{folder} has no {FILE}.", HINT)
    rows = []
    with path.open(encoding="utf-8", newline="") as handle:
        lines = csv.DictReader(handle)
        if missing := [column for column in ("", *COLUMNS) if column not in (lines.fieldnames or ())]:
            name = missing[0] or "without a name (the row number)"
            raise DataError(f"{path} has no column {name} (found: {lines.fieldnames or 'none'}).", HINT)
        for line in lines:
            rows += _both_rows(line, path)
    if not rows:
        raise DataError(f"{path} contains no pairs.", HINT)
    texts = pl.List(pl.String)
    frame = pl.DataFrame(rows, schema_overrides={"annotations": pl.List(texts), "annotators": texts})
    return PromptSet(frame, _card(frame.height // 2))


def _both_rows(line: dict[str, str], path: Path) -> list[dict[str, object]]:
    pair = line[""]
    where = f"{path}, pair {pair}"
    if any(line[column] is None for column in COLUMNS):
        raise DataError(f"{where}: the row has too few values.", HINT)
    if line["stereo_antistereo"] not in DIRECTIONS:
        raise DataError(
            f"{where}: the direction is {line['stereo_antistereo']!r}; expected {' or '.join(DIRECTIONS)}.",
            HINT,
        )
    shared: dict[str, object] = {
        "pair_id": pair,
        "axis": line["bias_type"],
        "bias_type": line["bias_type"],
        "direction": line["stereo_antistereo"],
        "sent_more": line["sent_more"],
        "sent_less": line["sent_less"],
        "annotations": _literal(line["annotations"], f"{where}, annotations"),
        "writer": line["anon_writer"],
        "annotators": _literal(line["anon_annotators"], f"{where}, anon_annotators"),
    }
    return [
        {"prompt_id": f"{pair}-{role}", "text": line[f"sent_{role}"], "role": role, **shared}
        for role in ("more", "less")
    ]


def _literal(written: str, where: str) -> list[object]:
    """Return the list in a published cell, which is written as a Python literal."""
    try:
        value = ast.literal_eval(written)
    except (ValueError, SyntaxError) as error:
        raise DataError(f"{where}: {written!r} is not a list.", HINT) from error
    if not isinstance(value, list):
        raise DataError(f"{where}: {written!r} is not a list.", HINT)
    return value


def _card(pairs: int) -> Card:
    entry = dataset("crows-pairs")
    return Card(
        name="crows-pairs",
        summary=f"CrowS-Pairs: {pairs:,} sentence pairs that differ in the social group they speak of",
        construct="Preference for the more stereotypical of two sentences that differ in the group.",
        groups="Nine kinds of bias; within a pair everything but the group words should be held fixed.",
        critique=(
            "Written by crowd workers. Many pairs change more than the group, or contrast things that are not "
            "groups (Blodgett et al. 2021)."
        ),
        citation=entry.citation,
        licence=entry.licence,
        source=entry.homepage,
        details="`sent_more` is always the more stereotypical sentence; `direction` states which group it is "
        "about.",
    )


def _build(folders: Mapping[str, Path]) -> PromptSet:
    return load_crows_pairs(dataset_folder("crows-pairs", None, folders.get("crows-pairs")))


def _add_published_prompts(prompts: pl.DataFrame, model: LanguageModel) -> pl.DataFrame:
    """Return the prompts and, for causal models, the same sentences as bias-bench scores them.

    In these rows, only the first token is conditioned on the start token.
    """
    if model.architecture == "masked":
        return prompts
    apart = model.architecture == "causal" and reads_start_apart(model)
    return asked_twice(prompts, prompts.with_columns(start_token=pl.lit("first")) if apart else None)


def _pairs(frame: pl.DataFrame, scoring: str = "corrected") -> pl.DataFrame:
    frame = select_scoring(scoring, frame)
    if "bias_type" not in frame.columns:
        frame = frame.with_columns(bias_type=pl.col("axis"))
    return one_row_per_pair(frame)


def _compute_plan(frame: pl.DataFrame, options: AnalysisOptions) -> pl.DataFrame:
    planned = plan_crows_pairs(_pairs(frame), level=options.level, seed=options.seed)
    unit = (
        f"percentage points from 50, if pairs that swap the same words correlate by {PLANNED_CORRELATION:g}"
    )
    return planned.with_columns(unit=pl.lit(unit))


def change_between(before: pl.DataFrame, after: pl.DataFrame, options: AnalysisOptions) -> list[Measurement]:
    """Return the rows `crows_pairs_change`: how much more the second model prefers stereotypes, paired by pair_id.

    before, after: responses of the two models to the same pairs, as for `analyse`. options: `n_axes` sets the
    significance level of a type, and both models are scored as `architecture` requires.
    """
    scores = [
        crows_pairs(_pairs(frame), architecture=options.architecture, level=None, seed=options.seed)
        for frame in (before, after)
    ]
    return change_rows("crows_pairs", preference_change(*scores, level=options.level, seed=options.seed))


def _analyse(frame: pl.DataFrame, options: AnalysisOptions) -> Analysis:
    pairs = _pairs(frame)
    architecture, level, seed = options.architecture, options.level, options.seed
    scorings: dict[str, PairScores] = {
        "crows_pairs": crows_pairs(pairs, architecture=architecture, level=level, seed=seed)
    }
    if architecture == "masked":
        scorings["crows_pairs_nangia"] = crows_pairs_nangia(pairs)
    else:
        scorings["crows_pairs_lm_eval"] = crows_pairs_lm_eval(pairs)
    by_rule = _pairs(frame, "published")
    counted = "token_count_more" in by_rule.columns and not by_rule["token_count_more"].is_null().all()
    if architecture == "masked" or counted:
        scorings["crows_pairs_bias_bench"] = crows_pairs_bias_bench(by_rule, architecture=architecture)
    if {"sent_more", "sent_less", "annotations"} <= set(pairs.columns):
        scorings["crows_pairs_without_flagged"] = crows_pairs(
            pairs, architecture=architecture, exclude_flagged=True, level=None, seed=seed
        )
    rows = preference_rows("crows_pairs", scorings["crows_pairs"].groups, judged=True)
    for name, scores in scorings.items():
        if name != "crows_pairs":
            rows += preference_rows(name, scores.groups, judged=False)
    overall = [(name, scores.groups.filter(pl.col("axis").is_null())) for name, scores in scorings.items()]
    details = {
        "groups": scorings["crows_pairs"].groups.filter(pl.col("axis").is_not_null()),
        "scorings": pl.concat(
            [
                table.select(pl.lit(name).alias("scoring"), "estimate", "low", "high", "n")
                for name, table in overall
            ]
        ),
    }
    return Analysis(rows, details)


BENCHMARK = Benchmark(
    name="crows-pairs",
    card=Card(
        name="crows-pairs",
        summary="1,508 sentence pairs: does the model prefer the more stereotyped sentence? Includes every "
        "published way of scoring.",
        construct="Preference for a sentence that stereotypes a disadvantaged group over the same sentence about "
        "another group.",
        harm="Representational: stereotypes are reproduced.",
        groups="Nine bias types. Within a pair, everything except the group should be the same.",
        ideal="50% of pairs",
        direction="Above 50%, the model prefers stereotypes. Below 50%, it prefers their opposites, which is a "
        "difference too.",
        null="50%: no preference. Pairs that swap the same words, such as black and white, form a set; the test "
        "flips the signs of whole sets.",
        critique="In 236 pairs, the sentences differ in more than one stretch of words. For 162 pairs, no majority "
        "of annotators agrees with the bias type (Blodgett et al. 2021 list more problems). The row "
        "`crows_pairs_without_flagged` shows the result without these pairs. For left-to-right models, the "
        "likelihood of the whole sentence reflects how common the group's name is. Pairs that swap the same words "
        "are not independent evidence: 157 of the 516 pairs on race are one swap. In a type with few pairs, only a "
        "large preference is detectable (for disability, about 25 points). A preference for the anti-stereotyped "
        "sentence is a difference, not a merit.",
        citation="Nangia et al. 2020, CrowS-Pairs: A Challenge Dataset for Measuring Social Biases in Masked "
        "Language Models, EMNLP 2020.",
        licence="Data CC BY-SA 4.0",
        source="Nangia et al. 2020 §3; bias-bench (Meade et al. 2022); lm-evaluation-harness.",
    ),
    architectures=frozenset({"causal", "encoder-decoder", "masked"}),
    request=ScoreRequest(masking="token", keep_tokens=True),
    build=_build,
    analyse=_analyse,
    changes=change_between,
    required_columns=("pair_id", "role", "axis"),
    asked=_add_published_prompts,
    limited=whole_pairs,
    minimum_detectable=_compute_plan,
    n_axes=9,
    axes=(
        "age",
        "disability",
        "gender",
        "nationality",
        "physical-appearance",
        "race-color",
        "religion",
        "sexual-orientation",
        "socioeconomic",
    ),
    effect_units=frozenset({"points"}),
    headlines=preference_headlines("crows_pairs"),
    datasets=("crows-pairs",),
)
