"""Compare groups in a user's own responses: by the rate of a label, or by the mean of a score."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from evenhand.benchmarks.analysis import (
    HARMFUL,
    analyse_group_rates,
    by_axis,
    failure_rows,
    only_read,
    rate_headlines,
    score_headlines,
)
from evenhand.benchmarks.answers.beside import group_columns, inside_others
from evenhand.benchmarks.answers.design import AnswerDesign, build_design
from evenhand.benchmarks.contract import (
    Analysis,
    AnalysisOptions,
    Benchmark,
    ClassifierRole,
    Generation,
    Headline,
)
from evenhand.measures import disparity
from evenhand.reports import sentences
from evenhand.reports.sentences import JUDGEMENTS, Estimate, RateWords, group_name, joined
from evenhand.schema import Card, Measurement, UsageError, measurement_rows

if TYPE_CHECKING:
    from evenhand.measures import ScoreDifferences
    from evenhand.prompts import PromptSet

ROLE = "judgement"
LEVEL = 0.05
ROW = "row"
"""The column with the row number of a response, if the table repeats the response for each axis."""
NOT_OF_ANSWERS = ("bias_score", "bias_score_published", "burden")
"""Measures of a complete audit that have no meaning for a user's own responses."""
NUMBER = "number"
"""Key of `AnalysisOptions.labels` with the name of a numeric outcome. The key `ROLE` has the name of the negative
outcome.
"""


def analyse_answers(frame: pl.DataFrame, options: AnalysisOptions) -> Analysis:
    """Compare the groups of each axis by their rate of negative responses or, without labels, by their mean scores.

    frame: axis, group, `judgement_negative` or `judgement_score`, and the columns that `build_design` reads; `row` is
    the row number in the user's table. options: `labels` may contain the name of a negative response and of the score.
    The detail tables are those of rates or scores, and the table `design`.
    """
    about = frame.filter(pl.col("axis").is_not_null() & pl.col("group").is_not_null())
    design = build_design(about)
    judged = f"{ROLE}_negative" in about.columns and about[f"{ROLE}_negative"].count() > 0
    named = options.labels.get(ROLE if judged else NUMBER)
    what = named[0] if named else "negative" if judged else "number"
    facts = pl.DataFrame({"outcome": [what], "rates": [judged], "counts_once": [design.cluster],
                          "held_fixed": [" and ".join(design.strata) or None], "scope": [design.scope]})  # fmt: skip
    measure = "disparity" if judged else "score_spread"
    nothing = _nothing(about, measure, what, design.obstacles)
    if not design.frame.height:
        return Analysis(nothing, {"design": facts})
    if judged:
        found = analyse_group_rates(
            design.frame,
            options,
            role=ROLE,
            cluster=design.cluster,
            strata=design.strata,
            once=ROW if ROW in design.frame.columns else None,
        )
        rows = [row for row in found.measurements if _applies(row)]
        kept = {name: table for name, table in found.details.items() if name != "published_groups"}
        outcomes = design.frame.with_columns(negative=pl.col(f"{ROLE}_negative"))

        def rates(part: pl.DataFrame, held: list[str]) -> pl.DataFrame:
            axes = disparity(part, cluster=design.cluster, strata=held, seed=options.seed).axes
            return axes.rename({"worst": "highest", "best": "lowest"})

        inside = inside_others(outcomes, design.cluster, design.strata, rates, value="negative", is_rate=True)
        pairs, tables = _pairs(outcomes, design, "negative", what, is_rate=True)
        return Analysis(rows + nothing + pairs, {**kept, "design": facts, "inside": inside, **tables})
    found_scores = _scores(design, options, what, facts)
    return replace(found_scores, measurements=[*found_scores.measurements, *nothing])


def _applies(row: Measurement) -> bool:
    """Return whether a row of rates is meaningful for a user's own responses.

    Published scores over groups are not, because no published data set is used. Totals over axes are not, because each
    response has a group on every axis. Refusals are shown only if there are some.
    """
    if row.measure.startswith("refusal"):
        return bool(row.estimate) or row.p is not None
    return row.measure not in NOT_OF_ANSWERS and (row.measure != "max_subgroup_rate" or row.axis is not None)


def _nothing(frame: pl.DataFrame, measure: str, unit: str, obstacles: Mapping[str, str]) -> list[Measurement]:
    """Return a row for each axis with an obstacle, which states that it is not measurable."""
    counts = frame.group_by("axis").len().sort("axis")
    return [
        Measurement(
            measure=measure,
            axis=axis,
            estimate=None,
            n=n,
            null=0.0,
            ideal=0.0,
            unit=unit,
            obstacle=obstacles[axis],
        )
        for axis, n in counts.filter(pl.col("axis").is_in(list(obstacles))).iter_rows()
    ]


def _scores(design: AnswerDesign, options: AnalysisOptions, what: str, facts: pl.DataFrame) -> Analysis:
    frame = design.frame
    column = f"{ROLE}_score"
    if column not in frame.columns or not frame[column].count():
        why = dict.fromkeys(frame["axis"].unique(), "No answer has a number.")
        nothing = _nothing(frame, "score_spread", what, why)
        return Analysis(nothing, {"design": facts})
    from evenhand.measures import score_differences

    reference = options.reference if (frame["group"] == (options.reference or "")).any() else None
    how: dict[str, Any] = {"cluster": design.cluster, "strata": list(design.strata)}
    shared: dict[str, Any] = {"n_axes": options.n_axes, "alpha": options.alpha, "seed": options.seed}
    found = score_differences(frame, score=column, reference=reference, **how, **shared)
    rows = score_rows(found, what)
    rows += failure_rows(
        frame.with_columns(negative=pl.col(column), refused=pl.lit(False)), {**how, **shared}, ROLE
    )

    def means(part: pl.DataFrame, held: list[str]) -> pl.DataFrame:
        return score_differences(
            part, score=column, cluster=design.cluster, strata=held, seed=options.seed
        ).axes

    details = {
        "inside": inside_others(frame, design.cluster, design.strata, means, value=column, is_rate=False),
        "score_axes": found.axes,
        "score_groups": found.groups,
        "score_pairs": found.pairs,
        "design": facts,
    }
    pairs, tables = _pairs(frame, design, column, what, is_rate=False)
    return Analysis(rows + pairs, details | tables)


def _pairs(
    frame: pl.DataFrame, design: AnswerDesign, value: str, what: str, *, is_rate: bool
) -> tuple[list[Measurement], dict[str, pl.DataFrame]]:
    """Return measurements and detail tables on interactions of every two columns of groups; empty for one column."""
    columns = group_columns(frame)
    if len(columns) < 2:
        return [], {}
    from evenhand.measures import interactions

    found = interactions(
        frame, columns, value=value, cluster=design.cluster, strata=design.strata, is_rate=is_rate
    )
    unit = "points" if is_rate else what
    rows = [
        row
        for (kind,), part in found.pairs.group_by("kind", maintain_order=True)
        for row in measurement_rows(
            part,
            "interaction",
            unit,
            null=0.0,
            ideal=0.0,
            effect_unit=f"{unit}, {kind or 'difference of gaps'}",
        )
    ]
    tables = {"interactions": found.pairs, "interaction_cells": found.cells, "interaction_gaps": found.gaps}
    return rows, tables


def score_rows(found: "ScoreDifferences", unit: str) -> list[Measurement]:
    """Return tested rows of axes and groups, and descriptive rows of means. unit: name of the score.

    For an axis with two groups, the MDE refers to the gap between them instead of the standard deviation.
    """
    gaps = found.groups.group_by("axis").agg(_smallest_gap=pl.col("minimum_detectable").max())
    axes = found.axes.join(gaps, on="axis", how="left", nulls_equal=True, maintain_order="left")
    of_two = pl.col("n_groups") == 2
    pairs = axes.filter(of_two).with_columns(minimum_detectable="_smallest_gap")
    rows = measurement_rows(
        pairs, "score_spread", unit, ideal=0.0, effect_unit=f"{unit} between the two groups"
    )
    rows += measurement_rows(
        axes.filter(~of_two), "score_spread", unit, ideal=0.0, effect_unit=f"{unit} (standard deviation)"
    )
    rows += measurement_rows(found.groups, "score_difference", unit, effect_unit=f"{unit} from the others")
    known = found.groups.filter(pl.col("mean").is_not_null())
    means = known.select(
        "axis", "group", "n", "n_missing", "n_units", estimate="mean", low="mean_low", high="mean_high"
    )
    return rows + measurement_rows(means, "mean_score", unit)


def _headlines(findings: pl.DataFrame, details: Mapping[str, pl.DataFrame]) -> list[Headline]:
    """Return a sentence for each axis, with the questions and raters to which it applies."""
    if "design" not in details:
        return []
    facts = details["design"].row(0, named=True)
    what = facts["outcome"]
    words = RateWords(what, about="for", name=group_name, judge=JUDGEMENTS, study="analysis")
    written = rate_headlines(words) if facts["rates"] else score_headlines(what)
    groups = details.get("groups" if facts["rates"] else "score_groups", pl.DataFrame())
    pairs: list[Headline] = []
    if "interactions" in details:
        from evenhand.benchmarks.answers.interaction_sentences import interaction_headlines

        pairs = interaction_headlines(what, is_rate=facts["rates"], held=facts["held_fixed"])(
            findings, details
        )
    # if the gap in one column depends on another column, its average is misleading, so the interaction comes first
    found = [line for line in pairs if line.verdict == "biased"]
    columns = by_axis(details.get("interactions"))
    lines = []
    for line in written(findings, details):
        parts = [line.sentence]
        of_outcome = line.measure in ("disparity", "score_spread")
        depends = {
            other: sentences.heading(pair.axis)
            for pair in found
            for axis, other in permutations((columns[pair.axis]["first"], columns[pair.axis]["second"]))
            if axis == line.axis
        }
        if line.verdict == "biased" and of_outcome:
            parts += _inside(line.axis, details.get("inside"), facts["rates"], depends)
        if line.verdict != "not measurable" and of_outcome:
            parts += [sentences.gap_depends(*one) for one in depends.items()]
        if line.verdict != "not measurable":
            if of_outcome:
                parts.append(only_read(findings, groups, line.axis))
            parts.append(facts["scope"])
        lines.append(replace(line, sentence=joined(*parts)))
    return [*found, *lines, *(line for line in pairs if line.verdict != "biased")]


def _inside(
    axis: str | None, inside: pl.DataFrame | None, rates: bool, depends: Collection[str]
) -> list[str]:
    """Return sentences on the gap that remains within the groups of associated axes.

    Axes on which the gap depends are left out, because another sentence covers them.
    """
    if inside is None:
        return []
    return [
        sentences.gap_inside(
            row["other"],
            None if row["gap"] is None else Estimate(row["gap"], row["gap_low"], row["gap_high"]),
            detected=row["gap"] is not None
            and row["p"] <= LEVEL
            and not row["gap_low"] <= 0 <= row["gap_high"],
            in_each=bool(row["same_in_each"]),
            is_rate=rates,
        )
        for row in inside.filter(pl.col("axis").eq_missing(pl.lit(axis))).iter_rows(named=True)
        if row["other"] not in depends
    ]


def _no_prompts(folders: Mapping[str, Path]) -> "PromptSet":
    raise UsageError(
        "The benchmark 'answers' has no prompts for a model: it measures responses that you already have.",
        "To measure a file of responses: evenhand measure FILE. To ask a model your own prompts: --prompts FILE.",
    )


BENCHMARK = Benchmark(
    name="answers",
    card=Card(
        name="answers",
        summary="Your own responses: do labels, judgements or numbers differ between the groups of each axis?",
        construct="Whether responses, texts or numbers differ between groups of people.",
        harm="It depends on the outcome: for example, harsher words, lower pay or shorter texts for some groups.",
        groups="The values of your group columns. Each group column is an axis, and groups are compared only "
        "within their axis.",
        ideal="0: no group differs from the others.",
        direction="A higher rate of negative responses is worse. For a number, only you know which direction is "
        "worse.",
        null="No difference: sampling units (responses, questions or persons) are permuted between the groups at "
        "random, within the questions or raters that are held fixed.",
        critique="A difference shows that groups differ, not why: questions, people and raters may differ in more "
        "than the group. Several responses of one person, or several codings of one response, count as one only if "
        "a column identifies the person or response.",
        citation="Edgington & Onghena 2007, Randomization Tests",
        source="evenhand.benchmarks.answers.build_design",
        licence="The responses are yours.",
        details="Codings of one response are averaged. If all groups got the same questions, responses are "
        "compared within each question. With 8 or more such questions, the questions are the sampling units. With "
        "a column `unit`, such as persons, each unit counts once.",
    ),
    architectures=frozenset({"causal", "encoder-decoder"}),
    request=Generation(max_new_tokens=100),
    build=_no_prompts,
    analyse=analyse_answers,
    required_columns=("axis", "group"),
    harmful=HARMFUL,
    headlines=_headlines,
    classified_by=(ClassifierRole(ROLE, "evenhand/lexicon-toxicity"),),
    gathered=True,
)
