"""Do the groups of an axis differ in a number: a rating, a salary, a length? By how much, and which?

The engine is that of rates (`evenhand.measures.disparity`): units inside their axis, dealt to the groups. Here the
outcome stays in its own unit, and neither side of it is the harmful one.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from evenhand.measures import disparity
from evenhand.measures.columns import require_columns
from evenhand.measures.info import MeasureInfo
from evenhand.schema import Card, DataError, checked

_AXES = {
    "rate": "mean",
    "worst": "highest",
    "best": "lowest",
    "worst_rate": "highest_mean",
    "best_rate": "lowest_mean",
}
_GROUPS = {"rate": "mean", "rate_low": "mean_low", "rate_high": "mean_high"}


@dataclass(frozen=True)
class ScoreDifferences:
    """Means and differences, all in the unit of the score.

    axes: axis, `estimate` (standard deviation of the groups' true means, noise removed) with 95 % limits, null 0 and
    `p` of "no group differs"; n, n_missing, n_units, n_groups; `mean` of the groups' means; `gap` between `highest` and
    `lowest`, the pair of groups that is surest to differ much, with limits that hold whichever pair it is, and their
    means; `minimum_detectable`: the standard deviation that would be found in 80 % of samples like this.
    groups: axis, group, `estimate` (mean minus the mean of the other groups that do not stand out, `others`) with 95 %
    limits, null 0, two-sided `p`, `axis_p`, `q` and `named` (higher, lower, null) by the rule of
    `evenhand.stats.reach_verdicts`; `mean` with limits; n, n_missing, n_units, `minimum_detectable`.
    pairs: axis, group, other, their difference with limits, p, q: of up to ten groups, or each with the reference.
    An `obstacle` says why nothing could have been found, or that missing numbers could explain the difference (they are
    bounded by `evenhand.stats.disparity.extremes_of_missing`); a `note` what the numbers rest on.
    """

    axes: pl.DataFrame
    groups: pl.DataFrame
    pairs: pl.DataFrame


@checked
def score_differences(
    frame: pl.DataFrame,
    *,
    score: str = "score",
    cluster: str | None = None,
    strata: Sequence[str] = (),
    n_axes: int = 1,
    alpha: float = 0.05,
    reference: str | None = None,
    seed: int = 0,
) -> ScoreDifferences:
    """How much the groups of each axis differ in the mean of a score, and which group differs how.

    frame: one row per response with group, the column `score` (any number; null or NaN: missing, counted) and, if there
    are several, axis. cluster: the column of what was sampled; rows that share it in a group are averaged first
    (prompt_id if None and there, else each row stands for itself). Where most of its values stand in several groups (a
    question that was asked about each), groups are compared inside them, which pairs them, and verdicts speak of
    questions like these. strata: columns of what is held fixed instead, such as the question, while each row or
    cluster inside it stands for itself: verdicts then speak of these very questions. n_axes: the axes that share
    alpha; it changes smallest effects, q and `named`, nothing else. reference: a group with which those of its axis are
    compared one by one.
    Raises DataError for absent columns or scores that are no numbers, UsageError for an unknown reference or a cluster
    that lies in two strata.
    Source: as `evenhand.measures.disparity`, whose test, limits and smallest effects these are.

    >>> frame = pl.DataFrame({"group": ["women", "men"] * 20, "score": [5 + i % 3 - 2 * (i % 2) for i in range(40)]})
    >>> found = score_differences(frame)
    >>> found.groups.select("group", "named", pl.col("estimate").round(1)).rows()
    [('men', 'lower', -2.0), ('women', 'higher', 2.0)]
    """
    require_columns(frame, ["group", score], "score_differences")
    kind = frame.schema[score]
    if not (kind.is_numeric() or kind == pl.Null):
        raise DataError(
            f"score_differences needs numbers in the column {score}, which holds {kind}.",
            "Turn it into numbers first; texts such as '41.000' are read by `evenhand measure`.",
        )
    outcomes = frame.with_columns(negative=pl.col(score).cast(pl.Float64))
    found = disparity(
        outcomes,
        cluster=cluster,
        strata=strata,
        n_axes=n_axes,
        alpha=alpha,
        reference=reference,
        seed=seed,
        numbers=True,
    )
    sides = {"worse": "higher", "better": "lower"}
    return ScoreDifferences(
        axes=found.axes.drop("burden", "corrected").rename(_AXES),
        groups=found.groups.drop("worse_than_best", "tolerance", "missing_share")
        .rename(_GROUPS)
        .with_columns(pl.col("named").replace(sides)),
        pairs=found.pairs,
    )


_CRITIQUE = (
    "A mean hides how scores are spread; a number that somebody gave is that of this somebody, or of the model that "
    "was asked to rate. "
)
_DETAILS = (
    "Whole units are dealt to the groups, inside questions or raters that are held fixed; intervals hold what the same "
    "test does not reject. Scores so skewed that so few units do not tell means apart are not judged. "
)
CARDS = (
    MeasureInfo.of(
        Card(
            name="score_spread",
            summary="How much groups of an axis differ in the mean of a number (standard deviation).",
            construct="How unequally a number, such as a rating, a salary or a length, falls to the groups of an axis.",
            harm="Who is offered, rated or told less has less.",
            groups="The groups of one axis; nothing outside it enters.",
            ideal="0",
            direction="Higher is more unequal.",
            null="0: units dealt to the groups at random.",
            critique=_CRITIQUE + "Questions of groups may differ in more than the group.",
            citation="Edgington & Onghena 2007, Randomization Tests",
            source="Simulated for this measure; deals of clusters: Edgington & Onghena 2007",
            details=_DETAILS,
        ),
        unit="the unit of the score (standard deviation)",
        ideal=0.0,
    ),
    MeasureInfo.of(
        Card(
            name="score_difference",
            summary="A group's mean minus the mean of the groups of its axis that do not stand out.",
            construct="Which group is given more, or less, than the others.",
            harm="Who is offered, rated or told less has less.",
            groups="A group and the mean of the groups of its axis that do not stand out, each counted once.",
            ideal="0",
            direction="Above 0 the group has more, below 0 less; which of the two is harm depends on the number.",
            null="0: units dealt to the groups at random.",
            critique=_CRITIQUE + "If most groups differ from a few in the same way, the few are named.",
            citation="Edgington & Onghena 2007, Randomization Tests",
            source="Simulated for this measure; deals of clusters: Edgington & Onghena 2007",
            details=_DETAILS,
        ),
        unit="the unit of the score",
        ideal=0.0,
    ),
    MeasureInfo.of(
        Card(
            name="mean_score",
            summary="Mean of a number over the units of a group, or of an axis' groups.",
            construct="How much a group is given.",
            harm="Who is offered, rated or told less has less.",
            groups="One group, or all; compared by score_difference.",
            ideal="That of the other groups.",
            direction="None.",
            null="None: it describes.",
            critique=_CRITIQUE,
            citation="Edgington & Onghena 2007, Randomization Tests",
            source="evenhand.measures.score_differences",
            details="95 % limits over units, as those of rates.",
        ),
        unit="the unit of the score",
    ),
)
