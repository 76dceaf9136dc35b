"""Compare two models on the same pairs: how much more often does the second prefer the stereotyped member?

The two outcomes of each pair are subtracted, so that what both models share cancels (a swap with a rare word,
an invalid pair). Tests, intervals and minimum detectable changes are those of one model's preference.
"""

from collections.abc import Iterator

import polars as pl

from evenhand.measures.columns import typed
from evenhand.measures.info import MeasureInfo
from evenhand.measures.pairs.clustered import flipped_row, once_each
from evenhand.measures.pairs.preference import STEREOTYPING, PairScores
from evenhand.measures.pairs.stereoset import StereoSetScores
from evenhand.measures.pairs.term_means import mean_over_terms
from evenhand.schema import Card, DataError, checked

CHANGES = (
    typed(pl.String, "axis")
    | typed(pl.Float64, "before after estimate low high")
    | typed(pl.Int64, "n n_missing n_units")
    | typed(pl.Float64, "null p minimum_detectable")
    | typed(pl.String, "obstacle")
)
"""Columns of a table of changes. before and after are percentages of the pairs that both models have.

The other numbers are in points.
"""


@checked
def preference_change(
    before: PairScores, after: PairScores, *, level: float = 0.05, seed: int = 0
) -> pl.DataFrame:
    """Return how much more often a second model prefers the stereotyped sentences of CrowS-Pairs than a first one.

    Use it after a mitigation, with results of `crows_pairs` on the same pairs. The two outcomes of each pair are
    subtracted, so problems of a pair that both models share cancel.

    Parameters
    ----------
    before, after : PairScores
        Results of `crows_pairs` for the first and the second model, on the same pairs of sentences.
    level : float, default 0.05
        Significance level of a bias type (alpha divided by the number of types of the benchmark).
    seed : int, default 0
        Random seed of signs and simulated data.

    Returns
    -------
    polars.DataFrame
        One row across all pairs (axis null, without p and minimum detectable change), then one per bias type.
        - ``before``, ``after``: percentage of pairs in which the model prefers the more stereotyped sentence.
        - ``estimate``: after minus before, percentage points, with 95% CI and p. Above 0: more stereotyped.
        - ``minimum_detectable``: change detected with 80% power. ``obstacle``: why no change is detectable.
        - ``n``: pairs that both models have (copies count once). ``n_missing``: other pairs.
        - ``n_units``: swaps, which are pairs that exchange the same words.

    Raises
    ------
    DataError
        No pair has an outcome of both models.

    Notes
    -----
    Swaps are the sampling units: the test flips the signs of whole swaps, as in `evenhand.stats.clusters`.

    References
    ----------
    - McNemar 1947: paired outcomes.

    Examples
    --------
    >>> from evenhand.measures import crows_pairs
    >>> frame = pl.DataFrame({"bias_type": ["age"] * 2, "log_likelihood_more": [-9.0, -8.0],
    ...                       "log_likelihood_less": [-9.5, -8.5]})
    >>> before = crows_pairs(frame, architecture="causal")
    >>> after = crows_pairs(frame.with_columns(log_likelihood_more=pl.lit(-9.0)), architecture="causal")
    >>> preference_change(before, after).select("before", "after", "estimate").row(0)
    (100.0, 50.0, -50.0)
    """
    keys = ["bias_type", "pair"]
    first, second = (once_each(scores.pairs) for scores in (before, after))
    both = first.join(second.select(*keys, later="outcome"), on=keys, how="inner", nulls_equal=True)
    everything = pl.concat([before.pairs.select(keys), after.pairs.select(keys)]).unique()
    _require_shared_pairs(both, everything)
    difference = pl.col("later") - pl.col("outcome")
    rows: list[dict[str, object]] = []
    for axis, part, base in _by_axis(both, everything):
        if part.is_empty():
            rows.append(base)
            continue
        sums = part.group_by("swap").agg(
            total=difference.sum(),
            size=pl.len(),
            plus=(difference > 0).sum().cast(pl.Int64),
            minus=(difference < 0).sum().cast(pl.Int64),
        )
        asked_level = level if axis is not None else None
        rows.append(base | _levels(part) | flipped_row(sums, null=0.0, level=asked_level, seed=seed))
    return _table(rows)


@checked
def stereotype_change(
    before: StereoSetScores, after: StereoSetScores, *, level: float = 0.05
) -> pl.DataFrame:
    """Return how much more often a second model prefers the stereotypes of StereoSet than a first one.

    Use it after a mitigation, with results of `stereoset` on the same items.

    Parameters
    ----------
    before, after : StereoSetScores
        Results of `stereoset` for the first and the second model, on the same items.
    level : float, default 0.05
        Significance level of a domain (bias type, such as gender or profession).

    Returns
    -------
    polars.DataFrame
        One row across all domains (axis null, without p and minimum detectable change), then one per domain.
        - ``before``, ``after``: stereotype score, the percentage of items in which the model prefers the stereotype
          (mean over target terms).
        - ``estimate``: after minus before, percentage points, with 95% CI and p. Above 0: more stereotyped.
        - ``minimum_detectable``: change detected with 80% power. ``obstacle``: why no change is detectable.
        - ``n``: items that both models have. ``n_missing``: other items. ``n_units``: terms.

    Raises
    ------
    DataError
        No item has an outcome of both models.

    Notes
    -----
    Terms are the sampling units. CI and p are Student's t over the mean differences of terms.

    Examples
    --------
    >>> from evenhand.measures import stereoset
    >>> rows = [("intrasentence", f"c{n}", "race", f"t{n}", label, score) for n in range(3) for label, score in
    ...         (("stereotype", 3.0), ("anti-stereotype", 2.0), ("unrelated", 1.0))]
    >>> names = ["dataset_type", "cluster_id", "bias_type", "target", "gold_label", "score"]
    >>> before = pl.DataFrame(rows, schema=names, orient="row")
    >>> after = before.with_columns(score=-pl.col("score"))
    >>> stereotype_change(stereoset(before), stereoset(after)).select("before", "after", "estimate").row(0)
    (100.0, 0.0, -100.0)
    """
    keys = ["dataset_type", "cluster_id", "bias_type", "target"]
    known = after.items.filter(pl.col("outcome").is_not_null())
    both = before.items.filter(pl.col("outcome").is_not_null()).join(
        known.select(*keys, later="outcome"), on=keys, how="inner"
    )
    everything = pl.concat([before.items.select(keys), after.items.select(keys)]).unique()
    _require_shared_pairs(both, everything)
    rows: list[dict[str, object]] = []
    for axis, part, base in _by_axis(both, everything):
        if part.is_empty():
            rows.append(base)
            continue
        terms = part.group_by("target").agg(
            value=100 * (pl.col("later") - pl.col("outcome")).mean(),
            n=pl.len(),
            decided=(pl.col("later") != pl.col("outcome")).sum(),
            first=100 * pl.col("outcome").mean(),
            second=100 * pl.col("later").mean(),
        )
        levels = {"before": terms["first"].mean(), "after": terms["second"].mean()}
        # the outcome of an item that changes is 0 before and 100 after, or vice versa
        found = mean_over_terms(terms, null=0.0, bounds=(-100.0, 100.0), step=100.0, level=level)
        described = {} if axis is not None else dict.fromkeys(("p", "minimum_detectable", "obstacle"))
        rows.append(base | levels | found | described)
    return _table(rows)


def _by_axis(
    both: pl.DataFrame, everything: pl.DataFrame
) -> Iterator[tuple[str | None, pl.DataFrame, dict[str, object]]]:
    """Yield (axis, rows that both models have, counts): first all rows, then each type or domain."""
    for axis in (None, *everything["bias_type"].drop_nulls().unique().sort()):
        here = pl.lit(True) if axis is None else pl.col("bias_type") == axis
        part, asked = both.filter(here), everything.filter(here)
        base: dict[str, object] = {"axis": axis, "n": part.height, "n_missing": asked.height - part.height}
        yield axis, part, base | ({"n_units": 0, "null": 0.0} if part.is_empty() else {})


def _levels(part: pl.DataFrame) -> dict[str, object]:
    return {"before": 100 * part["outcome"].mean(), "after": 100 * part["later"].mean()}  # type: ignore[operator]


def _table(rows: list[dict[str, object]]) -> pl.DataFrame:
    kept = [{name: row.get(name) for name in CHANGES} for row in rows]
    return pl.DataFrame(kept, schema=CHANGES).with_columns(pl.col(pl.Float64).fill_nan(None))


def _require_shared_pairs(both: pl.DataFrame, everything: pl.DataFrame) -> None:
    if both.is_empty():
        raise DataError(
            f"None of the {everything.height:,} pairs has a score from both models.",
            "Compare two runs on the same pairs. For your own scores, use the same pair_id for both models.",
        )


def _info(measure: str, what: str, null: str, critique: str) -> MeasureInfo:
    card = Card(
        name=f"{measure}_change",
        summary=f"How much more often a second model than a first prefers stereotyped sentences, {what}.",
        construct="Change of the preference for stereotypes between two models on the same pairs.",
        harm=STEREOTYPING,
        groups=f"As for {measure}.",
        ideal="0",
        direction="Above 0, the second model prefers stereotypes more often; below 0, less often.",
        null=null,
        critique=critique
        + "Less preference for stereotypes may mean more preference for their opposites: look at the values of both "
        "models.",
        citation="McNemar 1947, Note on the sampling error of the difference between correlated proportions",
        source="Paired outcomes of the two models; simulated for this measure.",
    )
    return MeasureInfo.of(card, unit="percentage points", ideal=0.0)


CARDS = (
    _info(
        "crows_pairs",
        "on the same CrowS-Pairs",
        "0. p and CI flip the signs of the differences of whole swaps (all pairs that exchange the same words).",
        "In 300 simulated comparisons without a change, the false-positive rate of the sign flip was 5 and 6%, that "
        "of McNemar's test 5 and 59%. The simulations used the published swaps on race, with pairs of a swap "
        "correlating by 0 and .2 in each model. ",
    ),
    _info(
        "stereoset_ss",
        "on the same StereoSet items",
        "0. p and CI use Student's t over the mean differences of target terms.",
        "Religion has 3 target terms and is not measurable. ",
    ),
)
