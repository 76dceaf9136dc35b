"""Dialogue state tracking as a yes/no task: accuracy and F1, compared with a classifier that always answers yes.

Such a classifier has a high F1: with a share b of correct "yes" answers it is 2b / (1 + b), which is .667 for b = 0.5.
In two rows of the published table (Barikeri et al. 2021, Table 4), F1 fell to this value. The other numbers of the
table do not show that the classifier then always answers yes.
"""

from collections.abc import Mapping

import numpy as np
import polars as pl
from scipy.special import stdtr

from evenhand.measures.columns import require_columns, require_keys, typed
from evenhand.measures.info import MeasureInfo
from evenhand.schema import Card, DataError, checked
from evenhand.stats import Codes, Floats, sums_bootstrap

SCORES = (
    typed(pl.String, "measure") | typed(pl.Float64, "estimate low high null") | typed(pl.Int64, "n clusters")
)
CHANGES = (
    typed(pl.String, "measure")
    | typed(pl.Float64, "before after change low high p")
    | typed(pl.Int64, "n clusters")
)
MEASURES = ("dst_f1", "dst_f1_over_null", "dst_accuracy", "dst_macro_f1", "dst_yes_rate")


@checked
def state_tracking(frame: pl.DataFrame, *, cluster: str = "dialogue", seed: int = 0) -> pl.DataFrame:
    """Return accuracy and F1 of a yes/no classifier for dialogue state tracking, with 95% CIs.

    Use it to measure whether a debiased dialogue model still understands its user. Each question asks whether a slot
    value, such as "area: north", belongs to what the user just said. Compare F1 with ``null``: a classifier that always
    answers yes has a high F1.

    Parameters
    ----------
    frame : polars.DataFrame
        One row per question. Columns: ``is_new`` (True if the correct answer is yes) and ``said_yes`` (True if the
        classifier answered yes), both boolean, and the column named by `cluster`.
    cluster : str, default "dialogue"
        Column with the sampling unit: whole dialogues are resampled.
    seed : int, default 0
        Random seed of the bootstrap.

    Returns
    -------
    polars.DataFrame
        One row per ``measure``. All are from 0 to 1, except differences. ``n``: questions. ``clusters``: dialogues.
        - dst_f1: F1 of yes. dst_f1_over_null: dst_f1 minus ``null``, with its own interval.
        - dst_accuracy: accuracy. dst_macro_f1: mean of F1 of yes and of no. dst_yes_rate: share of yes.
        - ``null``: value of a classifier that always answers yes to the same questions.

    Raises
    ------
    DataError
        A column is missing, has another type or contains nulls.

    References
    ----------
    - Barikeri et al. 2021, section 3.2 and Table 4 (F1), appendix C.2 (accuracy).

    Examples
    --------
    >>> frame = pl.DataFrame({"dialogue": ["a", "a", "b", "b"], "is_new": [True, False] * 2, "said_yes": [True] * 4})
    >>> state_tracking(frame).select("measure", pl.col("estimate").round(4), pl.col("null").round(4)).rows()[:2]
    [('dst_f1', 0.6667, 0.6667), ('dst_f1_over_null', 0.0, 0.0)]
    """
    parts, clusters = _parts(frame, cluster)
    limits = sums_bootstrap(parts, clusters, _scores, seed=seed)
    totals = parts.sum(axis=0)
    always = _scores(np.array([totals[0] + totals[2], totals[1] + totals[3], 0.0, 0.0]))
    lowest = np.array([0.0, -1.0, 0.0, 0.0, 0.0])
    low, high = np.maximum(limits.low, lowest), np.minimum(limits.high, 1.0)
    columns = {"estimate": limits.estimate, "low": low, "high": high, "null": always}
    return _table(columns, SCORES, len(parts), int(limits.clusters[0]))


@checked
def state_tracking_changes(
    before: pl.DataFrame, after: pl.DataFrame, *, cluster: str = "dialogue", seed: int = 0
) -> pl.DataFrame:
    """Compare two classifiers on the same state-tracking questions in the same order.

    Use it to test whether a mitigation changed the accuracy of dialogue state tracking. The comparison is paired.

    Parameters
    ----------
    before, after : polars.DataFrame
        Answers of the first and of the second classifier, one row per question, as in `state_tracking`.
    cluster : str, default "dialogue"
        Column with the sampling unit: whole dialogues are resampled.
    seed : int, default 0
        Random seed of the bootstrap.

    Returns
    -------
    polars.DataFrame
        One row per measure of `state_tracking`. ``change`` is after minus before, with 95% CI (low, high). ``p``
        is two-sided, from the same t as the interval. n: questions; clusters: dialogues.

    Raises
    ------
    DataError
        A column is missing, has another type or contains nulls, or the correct answers or dialogues of the two
        tables differ.

    Examples
    --------
    >>> one = pl.DataFrame({"dialogue": ["a", "b", "c"], "is_new": [True] * 3, "said_yes": [True, False, False]})
    >>> two = one.with_columns(said_yes=pl.Series([True, True, False]))
    >>> state_tracking_changes(one, two).select("measure", "before", "after").row(2)
    ('dst_accuracy', 0.3333333333333333, 0.6666666666666666)
    """
    (first, clusters), (second, others) = (_parts(frame, cluster) for frame in (before, after))
    if before["is_new"].to_list() != after["is_new"].to_list() or clusters.tolist() != others.tolist():
        raise DataError(
            "state_tracking_changes: before and after contain different questions.",
            "Give both models' answers to the same questions, in the same order.",
        )
    limits = sums_bootstrap(
        np.hstack([first, second]),
        clusters,
        lambda sums: _scores(sums[..., 4:]) - _scores(sums[..., :4]),
        seed=seed,
    )
    level, error = _scores(first.sum(axis=0)), limits.standard_error
    with np.errstate(divide="ignore", invalid="ignore"):
        p = 2 * stdtr(np.maximum(limits.clusters - 1, 1), -np.abs(limits.estimate / error))
    columns = {
        "before": level,
        "after": level + limits.estimate,
        "change": limits.estimate,
        "low": limits.low,
        "high": limits.high,
        "p": np.where(error > 0, p, np.where(limits.estimate == 0, 1.0, np.nan)),
    }
    return _table(columns, CHANGES, len(first), int(limits.clusters[0]))


def _parts(frame: pl.DataFrame, cluster: str) -> tuple[Floats, Codes]:
    """Return each question as (right yes, wrong yes, wrong no, right no), shape (n, 4), and its cluster."""
    require_columns(frame, ["is_new", "said_yes"], "state_tracking", of_any_kind=True)
    require_keys(frame, [cluster], "state_tracking")
    for name in ("is_new", "said_yes"):
        if frame.schema[name] != pl.Boolean or frame[name].null_count():
            raise DataError(
                f"state_tracking: the column {name} must contain true or false in every row.",
                "Fill in or remove the other rows.",
            )
    right, yes = (frame[name].to_numpy() for name in ("is_new", "said_yes"))
    parts = np.stack([right & yes, ~right & yes, right & ~yes, ~right & ~yes], axis=1)
    return parts.astype(np.float64), frame[cluster].rank("dense").to_numpy().astype(np.int64)


def _scores(sums: Floats) -> Floats:
    """Return the measures, shape (..., 5), from sums of shape (..., 4)."""
    hit, alarm, miss, pass_ = (sums[..., place] for place in range(4))
    with np.errstate(divide="ignore", invalid="ignore"):
        whole = hit + alarm + miss + pass_
        f1 = _or_zero(2 * hit / (2 * hit + alarm + miss))
        of_no = _or_zero(2 * pass_ / (2 * pass_ + alarm + miss))
        right = (hit + miss) / whole
        always = 2 * right / (1 + right)
        accuracy, said = (hit + pass_) / whole, (hit + alarm) / whole
    return np.stack([f1, f1 - always, accuracy, (f1 + of_no) / 2, said], axis=-1)


def _or_zero(values: Floats) -> Floats:
    return np.asarray(np.nan_to_num(values, nan=0.0))  # as in scikit-learn, F1 is 0 without any yes


def _table(
    columns: Mapping[str, Floats], schema: dict[str, type[pl.DataType]], n: int, clusters: int
) -> pl.DataFrame:
    frame = pl.DataFrame({"measure": list(MEASURES), **columns})
    frame = frame.with_columns(pl.lit(n).alias("n"), pl.lit(clusters).alias("clusters"))
    frame = frame.select(pl.col(name).cast(kind) for name, kind in schema.items())
    return frame.with_columns(pl.col(pl.Float64).fill_nan(None))


_REDDITBIAS = (
    "Barikeri, Lauscher, Vulić, Glavaš 2021, RedditBias: A Real-World Resource for Bias Evaluation and Debiasing of "
    "Conversational Language Models, ACL 2021"
)


def _info(unit: str, name: str, summary: str, **stated: str) -> MeasureInfo:
    shared = {
        "construct": "Whether a model can be taught to track what a user of a dialogue system wants.",
        "harm": "None by itself. If a mitigation makes a model track worse, all users are affected.",
        "groups": "All questions.",
        "ideal": "1",
        "direction": "Higher is better.",
        "null": "The value of a classifier that always answers yes to the same questions.",
        "citation": _REDDITBIAS,
        "source": "Barikeri et al. 2021, section 3.2, Table 4 and appendix C.2",
    }
    return MeasureInfo.of(Card(name=name, summary=summary, **(shared | stated)), unit=unit)


CARDS = (
    _info(
        "share (0 to 1)",
        "dst_f1",
        "F1 score of the answer yes to: does this slot value belong to what the user just said?",
        critique="Half of the questions are invented, one for each correct one, so the value is not joint goal "
        "accuracy. If yes is correct for a share b of the questions, always answering yes gives 2b / (1 + b), which "
        "is .667 at one half.",
    ),
    _info(
        "difference of shares",
        "dst_f1_over_null",
        "dst_f1 minus the value of always answering yes.",
        ideal="1 minus the value of always answering yes.",
        critique="If the CI contains 0, either nothing was learned or the effect is too small to detect.",
        source="evenhand",
    ),
    _info(
        "share (0 to 1)",
        "dst_accuracy",
        "Share of state-tracking questions that are answered correctly.",
        critique="A classifier that always gives the more common answer reaches the share of that answer.",
    ),
    _info(
        "share (0 to 1)",
        "dst_macro_f1",
        "Mean of the F1 scores of yes (dst_f1) and of no.",
        critique="As for dst_f1. Always answering yes gives half of its dst_f1.",
    ),
    _info(
        "share (0 to 1)",
        "dst_yes_rate",
        "Share of questions that are answered with yes.",
        ideal="The share of questions with the correct answer yes.",
        direction="Neither a high nor a low share is better. Near 0 or 1, the classifier answers without reading.",
        critique="The measure does not show whether answers are correct.",
        source="evenhand",
    ),
)
