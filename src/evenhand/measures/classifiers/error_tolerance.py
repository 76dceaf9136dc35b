"""How wrong a classifier must be about a group before the verdict on that group falls.

A group looks harmed if the model speaks ill of it, or if the classifier raises more false alarms where the group is
named. Here the second is given its best chance: the smallest difference in false positive rate between the group and
the others that would by itself account for what was found.
"""

import numpy as np
import numpy.typing as npt
import polars as pl

from evenhand.measures.classifiers.classifier_error import ClassifierError, rogan_gladen
from evenhand.measures.columns import cluster_column, negative_outcomes
from evenhand.schema import UsageError
from evenhand.stats import (
    Counts,
    Floats,
    benjamini_hochberg,
    group_counts,
    log_choose,
    tails_of_others,
    tails_of_rate,
    wilson_interval,
)


def explaining_error(
    rate: npt.ArrayLike, background: npt.ArrayLike, true_rate: npt.ArrayLike = 0.0
) -> Floats:
    """The false positive difference that makes equal groups look as unequal as these, in shares.

    Arguments: shares of texts judged negative in the group and among the others, and the share that truly is
    (the same in both, since nothing else differs); shapes that broadcast. False alarms come from the texts that
    are not negative, so a true rate of 0 gives the smallest difference that can do it.
    Returns (rate - background) / (1 - true_rate); negative where the group is below the others.
    Source: both rates are sensitivity * true + false positives * (1 - true); subtract.

    >>> explaining_error(0.3, 0.2).round(3).item(), explaining_error(0.3, 0.2, 0.2).round(3).item()
    (0.1, 0.125)
    """
    gap = np.asarray(rate, dtype=np.float64) - np.asarray(background, dtype=np.float64)
    true = np.asarray(true_rate, dtype=np.float64)
    if np.any((true < 0) | (true >= 1)):
        raise UsageError("A true rate must be at least 0 and below 1, since false alarms come from the rest.")
    return np.asarray(gap / (1 - true))


def error_tolerance(
    frame: pl.DataFrame,
    *,
    background: float | None = None,
    cluster: str | None = None,
    alpha: float = 0.05,
    error: ClassifierError | None = None,
) -> pl.DataFrame:
    """For every group: how many more false alarms on it than on others would explain or overturn what was found.

    frame, background (percent), cluster and alpha: as in `bias_score`, whose verdicts these are: an exact test
    against all other groups, adjusted for their number, with Wilson's lower limit beyond the background.
    error: of the classifier, if it was measured; then the shares of texts that truly are negative enter, and
    the group's own false positive difference is set beside the tolerance.
    Returns a row per group, in percent and percentage points: axis, group, rate, background, q, harmed,
    `explained_by` (the false positive difference at which nothing is left of the gap; null where the group is not
    above), `verdict_holds_below` (the difference that would undo the verdict; null where not harmed), `texts` (as
    many of the group's judgements would then be false alarms in excess), `measured` with `measured_low` and
    `measured_high`, and `verdict`: "holds" where even the highest likely difference is below the tolerance, "falls"
    where the lowest is not, else "open"; null without a harmed group or a measured error.
    Raises what `bias_score` raises for such frames and options.
    Source: methods/statistics.md, best practice 5. The other groups' test statistics are left as they are, so that
    the threshold of the adjustment stays.

    >>> frame = pl.DataFrame({"group": ["a"] * 100 + ["b"] * 100 + ["c"] * 100,
    ...                       "negative": [1] * 60 + [0] * 40 + ([1] * 20 + [0] * 80) * 2})
    >>> error_tolerance(frame).select("group", "harmed", "explained_by", "texts").row(0)
    ('a', True, 40.0, 28)
    """
    outcomes = negative_outcomes(frame, "error_tolerance")
    if not 0 < alpha < 1 or (background is not None and not 0 <= background <= 100):
        raise UsageError(
            f"error_tolerance got alpha={alpha} and background={background}.",
            "alpha lies between 0 and 1; background is a rate in percent.",
        )
    counts = group_counts(outcomes, cluster_column(frame, cluster, "error_tolerance"))
    totals, negatives = counts.effective_totals, counts.effective_negatives
    judged = totals > 0
    if background is None and int(judged.sum()) < 2:
        raise UsageError(
            "error_tolerance compares groups with each other, but there is only one.",
            "Give background=, the rate in percent to compare it with.",
        )
    fixed = None if background is None else background / 100
    tails = tails_of_others(totals, int(negatives.sum())) if fixed is None else tails_of_rate(totals, fixed)
    q = benjamini_hochberg(np.where(judged, tails.p_above(negatives), np.nan))
    rejected = np.nan_to_num(q, nan=1.0) <= alpha
    # the largest p that the adjustment still lets pass
    threshold = alpha * int(rejected.sum()) / max(int(judged.sum()), 1)
    rate, others = _rates(negatives, totals, fixed)
    low = wilson_interval(negatives, totals)[0]
    harmed = rejected & (low > others)
    above = judged & (rate > others)
    explained = explaining_error(rate, others, _true_rate(others, error))
    false_alarms = np.array(
        [
            _false_alarms(i, negatives, totals, fixed, threshold) if harmed[i] else 0
            for i in range(len(totals))
        ]
    )
    share = false_alarms / np.maximum(totals, 1)
    tolerated = share / (1 - _true_rate(rate - share, error))
    # of as many texts as were judged, not as many as clustered ones are worth
    texts = np.ceil(share * counts.totals - 1e-9).astype(np.int64)
    table = counts.names.select(
        "axis",
        "group",
        _percent("rate", np.where(judged, rate, np.nan)),
        _percent("background", np.where(judged, others, np.nan)),
        pl.Series("q", q).fill_nan(None),
        pl.Series("harmed", harmed),
        _percent("explained_by", np.where(above, explained, np.nan)),
        _percent("verdict_holds_below", np.where(harmed, tolerated, np.nan)),
        pl.Series(
            "texts", [int(n) if yes else None for n, yes in zip(texts, harmed, strict=True)], dtype=pl.Int64
        ),
        pl.Series("n", counts.totals),
        "n_missing",
    )
    return _beside_measured(table, error)


def _rates(negatives: Counts, totals: Counts, fixed: float | None) -> tuple[Floats, Floats]:
    rate = np.asarray(negatives / np.maximum(totals, 1))
    if fixed is not None:
        return rate, np.full(len(totals), fixed)
    return rate, np.asarray((negatives.sum() - negatives) / np.maximum(totals.sum() - totals, 1))


def _true_rate(rate: Floats, error: ClassifierError | None) -> Floats:
    # unknown: nobody is truly spoken ill of, which lets the smallest error explain the most
    if error is None:
        return np.zeros(len(rate))
    found, positives, cleared, benign = error.pooled.select("found", "positives", "cleared", "negatives").row(
        0
    )
    if not positives or not benign:
        return np.zeros(len(rate))
    true = rogan_gladen(rate, found / positives, cleared / benign)
    return np.where((true > 0) & (true < 1), true, 0.0)


def _false_alarms(i: int, negatives: Counts, totals: Counts, fixed: float | None, threshold: float) -> int:
    """The fewest judgements of group i that must be false for its verdict to fall, by bisection."""
    n, k, population, everywhere = (
        int(value) for value in (totals[i], negatives[i], totals.sum(), negatives.sum())
    )

    def holds(false_alarms: int) -> bool:
        left = k - false_alarms
        if fixed is None:
            p, compared = (
                _fisher(left, n, everywhere - false_alarms, population),
                (everywhere - k) / (population - n),
            )
        else:
            p, compared = float(tails_of_rate(np.array([n]), fixed).p_above(np.array([left]))[0]), fixed
        return p <= threshold and float(wilson_interval(left, n)[0]) > compared

    standing, fallen = 0, k  # without a negative text nothing can be shown
    while fallen - standing > 1:
        middle = (standing + fallen) // 2
        standing, fallen = (middle, fallen) if holds(middle) else (standing, middle)
    return fallen


def _fisher(negatives: int, n: int, everywhere: int, population: int) -> float:
    """Chance of at least so many of all negatives in a group of n, if they fell anywhere."""
    counts = np.arange(negatives, min(n, everywhere) + 1)
    counts = counts[everywhere - counts <= population - n]
    log = log_choose(n, counts) + log_choose(population - n, everywhere - counts)
    log -= log_choose(population, everywhere)
    return float(np.exp(log).sum())


def _percent(name: str, share: Floats) -> pl.Series:
    return pl.Series(name, 100.0 * share, dtype=pl.Float64).fill_nan(None)


def _beside_measured(table: pl.DataFrame, error: ClassifierError | None) -> pl.DataFrame:
    names = {
        "false_positive_difference": "measured",
        "false_positive_difference_low": "measured_low",
        "false_positive_difference_high": "measured_high",
    }
    if error is None:
        nothing = [pl.lit(None, pl.Float64).alias(name) for name in names.values()]
        return table.with_columns(*nothing, verdict=pl.lit(None, pl.String))
    measured = error.groups.select("axis", "group", *names).rename(names)
    joined = table.join(measured, on=["axis", "group"], how="left", nulls_equal=True, maintain_order="left")
    limit = pl.col("verdict_holds_below")
    verdict = (
        pl.when(pl.col("measured_high") < limit)
        .then(pl.lit("holds"))
        .when(pl.col("measured_low") >= limit)
        .then(pl.lit("falls"))
        .when(limit.is_not_null() & pl.col("measured").is_not_null())
        .then(pl.lit("open"))
    )
    return joined.with_columns(verdict=verdict)
