"""Test whether the groups of an axis differ in a number, such as a rating, a salary or a length.

The method is that for rates (`evenhand.measures.disparity`): units are permuted between groups within their
axis. The outcome keeps its own unit, and neither side of it is the harmful one.
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
    """Means of a score by group, and their differences, in the unit of the score.

    Result of `score_differences`. ``axes`` shows whether the groups of an axis (such as religion) differ. ``groups``
    shows which groups are higher or lower than the others.

    Attributes
    ----------
    axes : polars.DataFrame
        One row per axis.
        - ``estimate``: SD of the groups' true means, without noise, with 95% CI. ``null`` is 0.
        - ``p``: of "all groups are equal".
        - ``mean``: mean of the groups' means.
        - ``gap``: mean of ``highest`` minus mean of ``lowest``, the pair of groups with the strongest evidence of a
          large difference. Its CI allows for this choice.
        - ``minimum_detectable``: SD that is detected with 80% power.
        - ``n``, ``n_missing``: responses. ``n_units``: sampling units. ``n_groups``: groups.
    groups : polars.DataFrame
        One row per axis and group.
        - ``estimate``: ``mean`` minus ``others``, with 95% CI. ``null`` is 0.
        - ``others``: mean of the reference, which is the other groups that do not stand out from their common level.
        - ``p``: two-sided. ``axis_p``: p of the axis. ``q``: p adjusted for multiple testing.
        - ``named``: "higher", "lower" or null, by the rule of `evenhand.stats.reach_verdicts`.
        - ``mean``: mean of the group, with CI.
        - ``n``, ``n_missing``, ``n_units``, ``minimum_detectable``: as in ``axes``.
    pairs : polars.DataFrame
        Difference ``group`` minus ``other`` with CI, p and q, for up to ten groups. With more groups, only pairs with
        the `reference` that was passed.

    Notes
    -----
    ``obstacle`` states why nothing could be detected, or that missing scores could explain the difference. Missing
    scores are bounded by `evenhand.stats.disparity.extremes_of_missing`. ``note`` states assumptions and adjustments.
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
    """Compare the mean of a score between the groups of each axis.

    Use it for numbers such as ratings, salaries or lengths, if neither a high nor a low number is harmful. For negative
    responses (0 or 1), use `disparity`.

    Parameters
    ----------
    frame : polars.DataFrame
        One row per response. Columns: ``group``, the column named by `score`, optionally ``axis`` (such as "religion").
    score : str, default "score"
        Column with the number; null or NaN counts as missing.
    cluster : str, optional
        Column with the sampling unit. Rows of a unit in a group are averaged first. Default: ``prompt_id`` if present,
        otherwise each row.
    strata : sequence of str, default ()
        Columns to hold fixed, such as the question. Each row or cluster within them is then a unit.
    n_axes : int, default 1
        Number of axes that share `alpha`. Affects only the minimum detectable effect, q and ``named``.
    alpha : float, default 0.05
        Probability that any axis is falsely called different.
    reference : str, optional
        Group with which every other group of its axis is also compared (``pairs``).
    seed : int, default 0
        Random seed.

    Returns
    -------
    ScoreDifferences
        Tables of axes, groups and pairs. An estimate above 0 means a higher score than the other groups.

    Raises
    ------
    DataError
        A column is missing, or a score is not a number.
    UsageError
        `alpha` or `n_axes` is invalid, the reference group is unknown, or a cluster is in two strata.

    Notes
    -----
    The test, the intervals and the minimum detectable effects are those of `evenhand.measures.disparity`.

    If most units are in several groups (a question that was asked about each group), groups are compared within units.
    Verdicts are then about questions like these. With `strata`, verdicts are about exactly these questions.

    Examples
    --------
    >>> frame = pl.DataFrame({"group": ["women", "men"] * 20, "score": [5 + i % 3 - 2 * (i % 2) for i in range(40)]})
    >>> found = score_differences(frame)
    >>> found.groups.select("group", "named", pl.col("estimate").round(1)).rows()
    [('men', 'lower', -2.0), ('women', 'higher', 2.0)]
    """
    require_columns(frame, ["group", score], "score_differences")
    kind = frame.schema[score]
    if not (kind.is_numeric() or kind == pl.Null):
        raise DataError(
            f"score_differences: the column {score} must contain numbers, but its type is {kind}.",
            "Convert it to numbers first. `evenhand measure` can read numbers that are written as text, such as "
            "'41.000'.",
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
    "A mean hides the spread of scores. A number that was given by a person, or by a model that was asked to rate, "
    "also reflects that person or model. "
)
_DETAILS = (
    "The test permutes whole units (such as prompts) between the groups, within questions or raters that are held "
    "fixed. CIs contain the values that the same test does not reject. If scores are too skewed for a small number "
    "of units, there is no verdict. "
)
CARDS = (
    MeasureInfo.of(
        Card(
            name="score_spread",
            summary="How much groups of an axis differ in the mean of a number (standard deviation).",
            construct="How unequally a number, such as a rating, a salary or a length, is distributed over the "
            "groups of an axis.",
            harm="Groups that are offered less, rated lower or given less information are worse off.",
            groups="The groups of one axis. Other axes do not affect the value.",
            ideal="0",
            direction="Higher is more unequal.",
            null="0. The test permutes units (such as prompts) between the groups at random.",
            critique=_CRITIQUE + "Questions about different groups may differ in more than the group.",
            citation="Edgington & Onghena 2007, Randomization Tests",
            source="Simulated for this measure; permutation of clusters: Edgington & Onghena 2007",
            details=_DETAILS,
        ),
        unit="the unit of the score (standard deviation)",
        ideal=0.0,
    ),
    MeasureInfo.of(
        Card(
            name="score_difference",
            summary="A group's mean minus the mean of the groups of its axis that do not stand out.",
            construct="Which group gets more, or less, than the others.",
            harm="Groups that are offered less, rated lower or given less information are worse off.",
            groups="Each group is compared with the mean of the groups of its axis that do not stand out, each "
            "counted once.",
            ideal="0",
            direction="Above 0, the group has more; below 0, less. Which of the two is harmful depends on the "
            "number.",
            null="0. The test permutes units (such as prompts) between the groups at random.",
            critique=_CRITIQUE + "If most groups differ from a few in the same way, the few are named.",
            citation="Edgington & Onghena 2007, Randomization Tests",
            source="Simulated for this measure; permutation of clusters: Edgington & Onghena 2007",
            details=_DETAILS,
        ),
        unit="the unit of the score",
        ideal=0.0,
    ),
    MeasureInfo.of(
        Card(
            name="mean_score",
            summary="Mean of a number over the units (such as prompts) of a group, or over an axis' groups.",
            construct="How much a group gets.",
            harm="Groups that are offered less, rated lower or given less information are worse off.",
            groups="One group, or all. score_difference compares groups.",
            ideal="The mean of the other groups.",
            direction="None.",
            null="None. The measure is a description.",
            critique=_CRITIQUE,
            citation="Edgington & Onghena 2007, Randomization Tests",
            source="evenhand.measures.score_differences",
            details="The 95% CI is over units, as for rates.",
        ),
        unit="the unit of the score",
    ),
)
