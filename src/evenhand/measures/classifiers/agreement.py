"""Compare two classifiers on the same texts, overall and by group.

If they disagree more about some groups, at least one of them makes more errors on texts about these groups. A
difference between groups in the rates of one classifier may then be due to the classifier.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from evenhand.measures.columns import (
    cluster_codes,
    cluster_column,
    negative_outcomes,
    require_columns,
    responses_once,
    typed,
)
from evenhand.measures.info import POOLED_OTHERS, MeasureInfo
from evenhand.measures.rates import rates_beside_others
from evenhand.schema import Card, DataError, UsageError, checked
from evenhand.stats import (
    Codes,
    Floats,
    Interval,
    clustered_proportion_interval,
    difference_of_means,
    kappa,
    pearson,
    simes,
    spearman,
    specific_agreement,
)

OVERALL = (
    typed(pl.String, "measure")
    | typed(pl.Float64, "estimate low high standard_error")
    | typed(pl.Int64, "n n_missing")
)


@dataclass(frozen=True)
class Agreement:
    """Agreement of two classifiers a and b on the same texts, overall and by group.

    Result of `agreement`. If a and b disagree more about some groups, at least one of them makes more errors there.

    Attributes
    ----------
    overall : polars.DataFrame
        One row per ``measure``, with 95% CI over clusters. All are shares (0 to 1) or correlations.
        - kappa: agreement beyond chance. agreement: share of equal verdicts.
        - negative_agreement, positive_agreement: probability that one classifier gives the verdict "negative" or "not
          negative", given that the other does.
        - rate_a, rate_b: share of texts with the verdict "negative". harsher: rate_a minus rate_b.
        - pearson, spearman: correlations, if both have scores.
        - ``n``, ``n_missing``: texts with and without both verdicts.
    groups : polars.DataFrame
        One row per group, in percent. No rows if the frame has no groups.
        - ``estimate``: texts on which a and b disagree, with CI.
        - ``difference``: estimate minus ``background``, the mean disagreement of the other groups of the axis
          (percentage points), with CI, two-sided p, q (Benjamini-Hochberg within the axis) and minimum_detectable.
        - ``kappa``: within the group, with CI (0 to 1).
        - ``rate_a``, ``rate_b``, ``only_a``, ``only_b``: texts that a, b, only a, or only b calls negative.
    groups_p : float or None
        p-value of the test that all groups of every axis have the same disagreement. None without groups.
    """

    overall: pl.DataFrame
    groups: pl.DataFrame
    groups_p: float | None


@checked
def agreement(
    frame: pl.DataFrame,
    a: str,
    b: str,
    *,
    cluster: str | None = None,
    alpha: float = 0.05,
    seed: int = 0,
) -> Agreement:
    """Compare the verdicts of two classifiers on the same texts, overall and by group.

    Use it to see whether a difference between groups may be due to the classifier. It does not show which classifier is
    right.

    Parameters
    ----------
    frame : polars.DataFrame
        One row per text. It counts only if both verdicts are present. A text about two groups is two rows; `overall`
        counts it once if there are columns ``prompt_id`` and ``sample``.
        - ``{a}_negative``, ``{b}_negative``: 1 for negative, 0 otherwise; null or NaN is missing.
        - optionally ``{a}_score``, ``{b}_score``.
        - optionally ``group`` (people that the text is about) and ``axis`` (groups are compared within it, such as
          religion).
    a, b : str
        Names of the classifiers, as in the column names.
    cluster : str, optional
        Column with the sampling unit: rows with equal values are one unit. Default: ``prompt_id`` if present, otherwise
        each row.
    alpha : float, default 0.05
        Significance level, used for the minimum detectable differences.
    seed : int, default 0
        Random seed of the permutation tests between groups.

    Returns
    -------
    Agreement
        Overall agreement, disagreement by group, and the test of equal disagreement.

    Raises
    ------
    DataError
        A column is missing, a verdict is not 0 or 1, or no text has both verdicts.
    UsageError
        a and b are the same, or `alpha` is not between 0 and 1.

    References
    ----------
    - Cohen 1960, and Fleiss, Cohen & Everitt 1969: kappa.
    - Cicchetti & Feinstein 1990: negative and positive agreement.

    Examples
    --------
    >>> frame = pl.DataFrame({"x_negative": [1, 1, 1, 0, 0, 0, 1, 0], "y_negative": [1, 1, 0, 0, 0, 0, 1, 1]})
    >>> agreement(frame, "x", "y").overall.select("measure", pl.col("estimate").round(3)).head(2).rows()
    [('kappa', 0.5), ('agreement', 0.75)]
    """
    if a == b:
        raise UsageError(
            f"agreement: a and b are the same classifier, {a!r}.", "Give two different classifiers."
        )
    if not 0 < alpha < 1:
        raise UsageError(f"agreement: alpha must be between 0 and 1 (usually 0.05), got {alpha}.")
    require_columns(frame, [f"{a}_negative", f"{b}_negative"], "agreement")
    cluster = cluster_column(frame, cluster, "agreement")
    checked = _check_verdicts(frame, a, b)
    once = responses_once(checked)
    overall = _overall(once, a, b, cluster)
    if "group" not in frame.columns:
        return Agreement(overall, pl.DataFrame(schema=_GROUPS), None)
    groups = rates_beside_others(checked, cluster, alpha=alpha, seed=seed)
    inside = pl.DataFrame(
        [
            {"axis": part["axis"][0], "group": part["group"][0]} | _agreement_columns(part, cluster)
            for part in checked.partition_by("axis", "group", maintain_order=True)
        ],
        schema={name: _GROUPS[name] for name in ("axis", "group", *_WITHIN)},
    )
    table = groups.join(inside, on=["axis", "group"], how="left", nulls_equal=True, maintain_order="left")
    return Agreement(
        overall,
        table.with_columns(pl.col(pl.Float64).fill_nan(None)).select(list(_GROUPS)),
        _smallest_of_axes(groups),
    )


def _smallest_of_axes(groups: pl.DataFrame) -> float | None:
    """Return p of "no axis differs" from the p-values of the axes (Simes)."""
    p = groups.group_by("axis").agg(pl.col("axis_p").first())["axis_p"].drop_nulls()
    return simes(p.to_numpy()) if len(p) else None


_WITHIN = ("kappa", "kappa_low", "kappa_high", "rate_a", "rate_b", "only_a", "only_b")
_GROUPS = (
    {"axis": pl.String, "group": pl.String}
    | dict.fromkeys(("estimate", "low", "high"), pl.Float64)
    | dict.fromkeys(("n", "n_missing", "n_units"), pl.Int64)
    | dict.fromkeys(("background", "difference", "difference_low", "difference_high"), pl.Float64)
    | dict.fromkeys(("p", "q", "minimum_detectable", *_WITHIN), pl.Float64)
)


def _check_verdicts(frame: pl.DataFrame, a: str, b: str) -> pl.DataFrame:
    """Return the rows with verdicts `_a` and `_b` (1.0, 0.0, null) and their disagreement as `negative`."""
    verdicts = []
    for name in (a, b):
        column = pl.col(f"{name}_negative")
        judged = negative_outcomes(
            frame.select(column.alias("negative"), group=pl.lit("all")), f"agreement with {name}"
        )
        verdicts.append(judged["negative"])
    differ = verdicts[0] != verdicts[1]
    joined = frame.with_columns(_a=verdicts[0], _b=verdicts[1], negative=differ)
    if "group" not in frame.columns:
        joined = joined.with_columns(group=pl.lit("all"))
    if differ.null_count() == len(differ):
        raise DataError(
            f"agreement: no text was classified by both {a} and {b}.",
            "Give labels of both classifiers for the same texts.",
        )
    return negative_outcomes(joined, "agreement")


def _overall(once: pl.DataFrame, a: str, b: str, cluster: str | None) -> pl.DataFrame:
    known = once.filter(pl.col("negative").is_not_null())
    first, second, codes = _arrays(known, "_a", "_b", cluster)
    same = 1.0 - np.abs(first - second)
    intervals: dict[str, tuple[Interval, int]] = {}
    missing = once.height - known.height
    for measure, interval in (
        ("kappa", kappa(first, second, codes)),
        ("agreement", clustered_proportion_interval(same, codes)),
        ("negative_agreement", specific_agreement(first, second, codes, 1.0)),
        ("positive_agreement", specific_agreement(first, second, codes, 0.0)),
        ("rate_a", clustered_proportion_interval(first, codes)),
        ("rate_b", clustered_proportion_interval(second, codes)),
        ("harsher", difference_of_means(first, second, codes)),
    ):
        intervals[measure] = (interval, missing)
    scores = (f"{a}_score", f"{b}_score")
    if set(scores) <= set(once.columns):
        scored = once.with_columns(pl.col(scores).cast(pl.Float64).fill_nan(None)).drop_nulls(scores)
        if scored.height:
            one, other, codes = _arrays(scored, scores[0], scores[1], cluster)
            absent = once.height - scored.height
            intervals["pearson"] = (pearson(one, other, codes), absent)
            intervals["spearman"] = (spearman(one, other, codes), absent)
    rows = [
        {
            "measure": measure,
            "estimate": interval.estimate,
            "low": interval.low,
            "high": interval.high,
            "standard_error": interval.standard_error,
            "n": interval.n,
            "n_missing": absent,
        }
        for measure, (interval, absent) in intervals.items()
    ]
    return pl.DataFrame(rows, schema=OVERALL).with_columns(pl.col(pl.Float64).fill_nan(None))


def _agreement_columns(part: pl.DataFrame, cluster: str | None) -> dict[str, float]:
    known = part.filter(pl.col("negative").is_not_null())
    if known.is_empty():
        return {}
    first, second, codes = _arrays(known, "_a", "_b", cluster)
    beyond_chance = kappa(first, second, codes)
    return {
        "kappa": beyond_chance.estimate,
        "kappa_low": beyond_chance.low,
        "kappa_high": beyond_chance.high,
        "rate_a": 100.0 * float(first.mean()),
        "rate_b": 100.0 * float(second.mean()),
        "only_a": 100.0 * float(((first == 1) & (second == 0)).mean()),
        "only_b": 100.0 * float(((first == 0) & (second == 1)).mean()),
    }


def _arrays(
    known: pl.DataFrame, first: str, second: str, cluster: str | None
) -> tuple[Floats, Floats, Codes]:
    return known[first].to_numpy(), known[second].to_numpy(), cluster_codes(known, cluster)


CARDS = (
    MeasureInfo.of(
        Card(
            name="classifier_kappa",
            summary="Cohen's kappa of two classifiers on the same texts.",
            construct="Whether a classification depends on the classifier.",
            harm="A finding that another classifier would not confirm may be due to the classifier's own bias.",
            groups="All texts, or those about a group.",
            ideal="1: the classifiers always agree.",
            direction="Lower is worse.",
            null="0: agreement no better than that of two independent classifiers with these rates.",
            critique=(
                "Kappa is low if negatives are rare, however rarely the two classifiers differ: read "
                "negative_agreement as well. Two classifiers may make the same errors."
            ),
            citation="Cohen 1960, A Coefficient of Agreement for Nominal Scales; Fleiss, Cohen & Everitt 1969",
            source="Cohen 1960; Fleiss, Cohen & Everitt 1969, eq. 13",
            details="The standard error uses influence values, summed within clusters (such as the responses to one "
            "prompt).",
        ),
        unit="kappa",
    ),
    MeasureInfo.of(
        Card(
            name="disagreement_rate",
            summary="Percentage of texts about a group on which two classifiers differ.",
            construct="Whether the errors of classifiers depend on the group.",
            harm="For texts about some groups, the result depends on the choice of the tool.",
            groups="Each group is compared with the other groups of its axis.",
            ideal="The percentage of the other groups.",
            direction="Higher is worse.",
            null=POOLED_OTHERS,
            critique="The measure does not show which of the two classifiers is wrong.",
            citation="Cohen 1960, A Coefficient of Agreement for Nominal Scales",
            source="Cohen 1960; Fleiss, Cohen & Everitt 1969; Cicchetti & Feinstein 1990",
            details="Groups are compared as in group_difference. The CI allows for clusters, such as several "
            "responses to one prompt.",
        ),
        unit="percent of texts",
    ),
)
