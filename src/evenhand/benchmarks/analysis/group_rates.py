"""The analysis that benchmarks of judged continuations share: about which groups does the model write worse?

Corrected BiasScore gives the verdicts. Beside it stand the published one and its tables, the most harmed groups, and
a few continuations about these, so that a reader sees what a rate is made of.
"""

from collections.abc import Callable

import polars as pl

from evenhand.benchmarks.analysis.rate_rows import (
    EFFECT,
    RATE_UNIT,
    SCORE_UNIT,
    axis_rows,
    corrected_rows,
    largest_rows,
    overall_rates,
    published_rows,
)
from evenhand.benchmarks.contract import Analysis, AnalysisOptions
from evenhand.measures import axis_rates, bias_score, max_subgroup_rate, published_bias_score
from evenhand.measures.texts import refused
from evenhand.schema import Measurement, ResponseError, measurement_rows
from evenhand.stats import Harmful

GROUPS, EACH, CHARACTERS = 5, 3, 300
SCHEMA = {
    "axis": pl.String, "group": pl.String, "harmed": pl.Boolean, "prompt": pl.String, "continuation": pl.String,
    "score": pl.Float64,
}  # fmt: skip


def harmed_examples(grouped: pl.DataFrame, groups: pl.DataFrame) -> pl.DataFrame:
    """The most negative continuations about the first groups of a list, of different prompts, cut to a few lines.

    grouped: one row per response and group with axis, group, prompt_id, text, continuation, negative, score.
    groups: axis and group, worst first, and whether they are harmed.
    Returns axis, group, harmed, prompt, continuation, score, in the order of the groups; empty where a file of
    judgements came without the texts.
    """
    if not {"text", "continuation", "prompt_id"} <= set(grouped.columns):
        return pl.DataFrame(schema=SCHEMA)
    listed = groups.head(GROUPS).select("axis", "group", "harmed").with_row_index("place")
    return (
        grouped.filter(pl.col("negative") & pl.col("continuation").is_not_null())
        .join(listed, on=["axis", "group"])
        .sort("place", "score", "prompt_id", descending=[False, True, False], nulls_last=True)
        .unique(["place", "prompt_id"], keep="first", maintain_order=True)
        .group_by("place", maintain_order=True)
        .head(EACH)
        .select("axis", "group", "harmed", _cut("text").alias("prompt"), _cut("continuation"), "score")
    )


def _cut(column: str) -> pl.Expr:
    text = pl.col(column)
    short = text.str.head(CHARACTERS - 1) + "…"
    return pl.when(text.str.len_chars() > CHARACTERS).then(short).otherwise(text)


HARMFUL: dict[str, Harmful] = {
    "bias_score": "above",
    "negative_rate": "above",
    "max_subgroup_rate": "above",
    "axis_rate": "above",
    "missing_rate": "above",
    "refusal_rate": "above",
}
"""On which side harm lies; being left without an answer is one, too."""
LISTED = 10
LEAST_RESPONSES = 10
"""Judged responses below which a group is shown and not judged, as `judge` has it for rows."""
Grouping = Callable[[pl.DataFrame], pl.DataFrame]


def with_group(responses: pl.DataFrame) -> pl.DataFrame:
    """The responses that are about a group; others only enter the published background."""
    return responses.filter(pl.col("axis").is_not_null() & pl.col("group").is_not_null())


def unchanged(grouped: pl.DataFrame) -> pl.DataFrame:
    """All groups count as published."""
    return grouped


def labelled_responses(frame: pl.DataFrame, role: str) -> pl.DataFrame:
    """The responses with `negative`, `score`, `refused` and `sample`, whoever judged them.

    frame: one row per prompt and sample, as `Benchmark.analyse` gets it; of the columns named by the role only
    `<role>_negative` must be there, which somebody's own file may be content with.
    """
    score = f"{role}_score"
    return frame.with_columns(
        negative=pl.col(f"{role}_negative").cast(pl.Boolean),
        score=pl.col(score).cast(pl.Float64) if score in frame.columns else pl.lit(None, pl.Float64),
        refused=_refused(frame),
    )


def _refused(frame: pl.DataFrame) -> pl.Series:
    """Whether a service or the model itself would not go on."""
    in_words = pl.Series([False]).new_from_index(0, frame.height)
    if "continuation" in frame.columns:
        in_words = refused(frame["continuation"]).fill_null(False)
    if "error" not in frame.columns:
        return in_words
    return in_words | (frame["error"] == str(ResponseError.REFUSED)).fill_null(False)


def analyse_group_rates(
    frame: pl.DataFrame,
    options: AnalysisOptions,
    *,
    role: str,
    cluster: str = "prompt_id",
    grouped: Grouping = with_group,
    published: Grouping = unchanged,
    axes_alike: bool = False,
) -> Analysis:
    """BiasScore corrected and as published, rates of groups, missing and refused responses, examples.

    frame: one row per response with prompt_id, text, continuation, `<role>_negative` and, unless `grouped` makes
    them, axis and group. role: whose judgement counts. cluster: the column whose rows hang together; somebody's
    own table that lacks it is taken prompt by prompt. grouped: makes one row for each group that a response is
    about. published: of those, the rows whose groups the published tables count. The published background is the
    rate of all responses, of groups or not. axes_alike: whether the prompts of all axes are made from the same
    templates, so that axes may be compared, too.
    Details: `groups` and `axes` (as `BiasScore`, with rates and refusals), `axis_rates`, `maxima`, `most_harmed`,
    `examples`, `published_groups`.
    """
    responses = labelled_responses(frame, role)
    cluster = cluster if cluster in frame.columns else "prompt_id"
    about = grouped(responses)
    rates = overall_rates(responses, about, cluster)
    groups_known = about.filter(pl.col("negative").is_not_null()).select("axis", "group").n_unique()
    if groups_known < 2:  # nothing to compare: a rate alone, or nothing judged at all
        rows = rates + _not_compared(about) + _failure_rows(about, cluster, options)
        return Analysis(rows, {"groups": _counts(about)})
    score = bias_score(about, cluster=cluster, alpha=options.alpha, seed=options.seed)
    largest = max_subgroup_rate(about, cluster=cluster, most=LISTED, seed=options.seed)
    tables = published(about)
    old = None
    if tables["negative"].count():
        background = 100.0 * float(responses["negative"].cast(pl.Float64).mean())  # type: ignore[arg-type]
        old = published_bias_score(tables, background)
    by_axis = axis_rates(about, cluster=cluster, alpha=options.alpha, seed=options.seed)
    keys = ["axis", "group"]
    refused = _counts(about).select(*keys, "n_refused")
    groups = score.groups.rename({"estimate": "rate"}).join(
        refused, on=keys, how="left", maintain_order="left"
    )
    worst = largest.most_harmed.filter(pl.col("axis").is_null())
    worst = worst.drop("axis").rename({"group_axis": "axis", "estimate": "rate"})
    worst = worst.join(groups.select(*keys, "background", "q", "harmed"), on=keys, maintain_order="left")
    details = {
        "groups": groups,
        "axes": score.axes,
        "axis_rates": by_axis.axes,
        "maxima": largest.maxima,
        "most_harmed": worst,
        "examples": harmed_examples(about, worst.sort("harmed", descending=True, maintain_order=True)),
    }
    if old is not None:
        details["published_groups"] = old.groups
    rows = corrected_rows(score) + largest_rows(largest) + published_rows(old, tables) + rates
    if axes_alike:
        rows += axis_rows(by_axis)
    return Analysis(rows + _failure_rows(about, cluster, options), details)


def _failure_rows(grouped: pl.DataFrame, cluster: str, options: AnalysisOptions) -> list[Measurement]:
    """Which groups are left without an answer more often than others: tested only if anybody is."""
    rows = []
    failures = {"missing_rate": pl.col("negative").is_null(), "refusal_rate": pl.col("refused")}
    for measure, failed in failures.items():
        outcomes = grouped.with_columns(negative=failed)
        if outcomes["negative"].any() and not outcomes["negative"].all():
            groups = bias_score(outcomes, cluster=cluster, alpha=options.alpha, draws=1).groups
            names = {"background": "null"}
            rows += measurement_rows(groups, measure, RATE_UNIT, names=names, effect_unit=EFFECT)
    return rows


def _not_compared(grouped: pl.DataFrame) -> list[Measurement]:
    """Rows that say that nothing could be compared, so that it is not mistaken for a finding of none."""
    axes = [None, *grouped["axis"].unique().sort().to_list()]
    rows = []
    for axis in axes:
        part = grouped if axis is None else grouped.filter(pl.col("axis") == axis)
        n, missing = part["negative"].count(), part["negative"].null_count()
        rows.append(
            Measurement(
                measure="bias_score",
                axis=axis,
                estimate=None,
                n=n,
                n_missing=missing,
                ideal=0.0,
                unit=SCORE_UNIT,
            )
        )
    return rows


def _counts(grouped: pl.DataFrame) -> pl.DataFrame:
    """axis, group, rate, n, n_missing, n_refused."""
    return (
        grouped.group_by("axis", "group")
        .agg(
            rate=100.0 * pl.col("negative").mean(),
            n=pl.col("negative").count().cast(pl.Int64),
            n_missing=pl.col("negative").null_count().cast(pl.Int64),
            n_refused=pl.col("refused").sum().cast(pl.Int64),
        )
        .sort("axis", "group")
    )
