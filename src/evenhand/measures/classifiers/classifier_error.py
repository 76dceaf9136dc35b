"""How often a classifier is wrong about each group, and what rates would be without its errors.

`classifier_error` gives sensitivity and specificity on texts whose truth is known; `corrected_rates` turns rates of
judgements into rates of the thing judged, group by group (Rogan and Gladen). The uncertainty of a corrected rate is
that of three counts: the judgements, and the labelled texts that sensitivity and specificity were learnt from.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.special import ndtr, ndtri

from evenhand.measures.columns import cluster_column, negative_outcomes, require_columns
from evenhand.schema import DataError, UsageError
from evenhand.stats import Flags, Floats, Indices, benjamini_hochberg, group_counts, risk_difference

_KEYS = ("axis", "group")


@dataclass(frozen=True)
class ClassifierError:
    """What a labelled set says of a classifier; all rates in percent, with 95 % limits.

    groups: a row per group with `n_positive` and `n_negative` (texts that are and are not what the classifier looks
    for, and that it judged), `n_missing` (texts it gave no judgement on), `sensitivity` and `specificity` with
    `_low` and `_high`, and the difference of its false positive rate from that on all other groups,
    `false_positive_difference` with `_low` and `_high` (Newcombe); rates are null where no text tells.
    `found` of `positives` and `cleared` of `negatives` are the counts behind the rates, as many independent ones
    as clustered texts are worth.
    pooled: the same columns, one row, all groups together.
    """

    groups: pl.DataFrame
    pooled: pl.DataFrame


def classifier_error(frame: pl.DataFrame, *, cluster: str | None = None) -> ClassifierError:
    """Sensitivity and specificity of a classifier on texts about each group.

    frame: one row per labelled text with group, truth (1 or 0: is it what the classifier looks for?), judged (1, 0,
    null where the classifier failed) and, if there are several, axis. cluster: column of texts that hang together
    (the template they were made from, say); None counts every text by itself.
    Raises DataError for absent columns, a truth that is missing, or values other than 0 and 1.
    Source: methods/statistics.md, best practice 5; Wilson 1927; Newcombe 1998, method 10.

    >>> frame = pl.DataFrame({"group": ["a"] * 20 + ["b"] * 20, "truth": [1] * 10 + [0] * 10 + [1] * 10 + [0] * 10,
    ...                       "judged": [1] * 9 + [0] + [1] * 4 + [0] * 6 + [1] * 9 + [0] * 11})
    >>> classifier_error(frame).groups.select("group", "sensitivity", "specificity").rows()
    [('a', 90.0, 60.0), ('b', 90.0, 100.0)]
    """
    require_columns(frame, ["group", "truth", "judged"], "classifier_error")
    if cluster is not None:
        require_columns(frame, [cluster], "classifier_error")
        if frame[cluster].null_count():
            raise DataError(f"classifier_error found rows without {cluster}.", "Fill or drop these rows.")
    judged = negative_outcomes(frame.with_columns(negative="judged"), "classifier_error")
    truth = negative_outcomes(frame.with_columns(negative="truth"), "classifier_error")["negative"]
    if truth.null_count():
        raise DataError(
            f"classifier_error found {truth.null_count()} rows without truth.",
            "Drop texts nobody has labelled.",
        )
    rows = judged.with_columns(truth=truth)
    names = rows.select(_KEYS).unique().sort(_KEYS)
    table = _error_rows(rows, names, cluster)
    everybody = rows.with_columns(axis=pl.lit(None, pl.String), group=pl.lit("all"))
    pooled = _error_rows(everybody, everybody.select(_KEYS).head(1), cluster)
    return ClassifierError(_with_differences(table), _with_differences(pooled))


def _error_rows(rows: pl.DataFrame, names: pl.DataFrame, cluster: str | None) -> pl.DataFrame:
    of_positives = _tallied(
        rows.filter(truth=1.0), cluster, "n_positive", "found", "positives", "sensitivity"
    )
    # specificity is counted as texts rightly let pass
    passed = rows.filter(truth=0.0).with_columns(negative=1 - pl.col("negative"))
    of_negatives = _tallied(passed, cluster, "n_negative", "cleared", "negatives", "specificity")
    missing = rows.group_by(_KEYS).agg(n_missing=pl.col("negative").null_count().cast(pl.Int64))
    table = names
    for part in (of_positives, of_negatives, missing):
        table = table.join(part, on=_KEYS, how="left", nulls_equal=True, maintain_order="left")
    counts = pl.col("n_positive", "n_negative", "n_missing", "found", "positives", "cleared", "negatives")
    return table.with_columns(counts.fill_null(0))


def _tallied(
    rows: pl.DataFrame, cluster: str | None, n: str, hits: str, effective: str, rate: str
) -> pl.DataFrame:
    if rows.is_empty():
        types = dict.fromkeys(_KEYS, pl.String) | dict.fromkeys((n, hits, effective), pl.Int64)
        return pl.DataFrame(schema=types | dict.fromkeys((rate, f"{rate}_low", f"{rate}_high"), pl.Float64))
    counts = group_counts(rows, cluster)
    judged = counts.totals > 0
    share = counts.negatives / np.maximum(counts.totals, 1)
    values = {rate: share, f"{rate}_low": counts.low, f"{rate}_high": counts.high}
    return counts.names.select(_KEYS).with_columns(
        pl.Series(n, counts.totals),
        pl.Series(hits, counts.effective_negatives),
        pl.Series(effective, counts.effective_totals),
        *(
            pl.Series(name, np.where(judged, 100.0 * value, np.nan)).fill_nan(None)
            for name, value in values.items()
        ),
    )


def _with_differences(table: pl.DataFrame) -> pl.DataFrame:
    alarms = (table["negatives"] - table["cleared"]).to_numpy()
    benign = table["negatives"].to_numpy()
    others_alarms, others_benign = alarms.sum() - alarms, benign.sum() - benign
    rows: list[tuple[float | None, float | None, float | None]] = []
    for alarm, total, other, other_total in zip(alarms, benign, others_alarms, others_benign, strict=True):
        if not total or not other_total:
            rows.append((None, None, None))
            continue
        gap = risk_difference(int(alarm), int(total), int(other), int(other_total))
        rows.append((100 * gap.estimate, 100 * gap.low, 100 * gap.high))
    name = "false_positive_difference"
    columns = pl.DataFrame(
        rows, schema=dict.fromkeys((name, f"{name}_low", f"{name}_high"), pl.Float64), orient="row"
    )
    rates = [f"{rate}{end}" for rate in ("sensitivity", "specificity") for end in ("", "_low", "_high")]
    numbers = ("n_positive", "n_negative", "n_missing", "found", "positives", "cleared", "negatives")
    order = (*_KEYS, *rates, *columns.columns, *numbers)
    return table.hstack(columns).select(order)


NO_LABELLED = "no labelled texts of the group, or no judgements"
NO_BETTER_THAN_CHANCE = "the classifier is no better than chance on this group"
PERHAPS_CHANCE = "the classifier is not shown to be better than chance on this group"
BELOW_ZERO = "fewer texts are judged negative than false alarms alone would be"
ABOVE_ONE = "more texts are judged negative than would be if all were"

_REACH = float(ndtri(0.975))


def rogan_gladen(rate: npt.ArrayLike, sensitivity: npt.ArrayLike, specificity: npt.ArrayLike) -> Floats:
    """The true rate behind a rate of judgements, in shares; outside 0 to 1 where the three contradict each other.

    Arguments: shares of any shapes that broadcast. Returns (rate + specificity - 1) / (sensitivity + specificity
    - 1), never clipped; NaN where sensitivity + specificity <= 1, since such a classifier tells nothing.
    Source: Rogan & Gladen 1978, American Journal of Epidemiology 107, pages 71-76.

    >>> rogan_gladen([0.14, 0.05], 0.9, [0.94, 0.9]).round(4).tolist()
    [0.0952, -0.0625]
    """
    judged_rate, true_positives, true_negatives = (
        np.asarray(value, dtype=np.float64) for value in (rate, sensitivity, specificity)
    )
    youden = true_positives + true_negatives - 1
    usable = youden > 0
    return np.asarray(
        np.where(usable, (judged_rate + true_negatives - 1) / np.where(usable, youden, 1.0), np.nan)
    )


def corrected_rates(
    frame: pl.DataFrame,
    error: ClassifierError,
    *,
    pooled: bool = False,
    cluster: str | None = None,
    alpha: float = 0.05,
) -> pl.DataFrame:
    """The rate of each group corrected for the classifier's error, and whether it still exceeds that of the others.

    frame: one row per response with group, negative (1, 0, null) and, if there are several, axis. error: of the
    classifier that judged them, from `classifier_error`. pooled: use its error over all groups together, which
    assumes that it is as often wrong about one group as about another. cluster: column of rows that hang
    together, prompt_id if None and there. alpha: false discovery rate of `harmed`.
    Returns a row per group, rates in percent: axis, group, `judged` (the rate of judgements), `estimate` (corrected,
    never clipped) with 95 % limits `low` and `high` (cut to 0 and 100), `background` (the corrected rate of all
    other groups), `difference` with its limits, one-sided `p` of "no higher than the others" and `q` over all
    groups, `harmed`, n, n_missing, and `flag`, which says why a value is absent or impossible. A group that
    cannot be corrected is left out of the others' background.
    Raises DataError if a group has no row in `error` and `pooled` is false.
    Source: Rogan & Gladen 1978; limits: Lang & Reiczigel 2014, Preventive Veterinary Medicine 113, pages 13-22.

    >>> labelled = pl.DataFrame({"group": ["a"] * 200 + ["b"] * 200, "truth": ([1] * 100 + [0] * 100) * 2,
    ...     "judged": [1] * 90 + [0] * 10 + [1] * 50 + [0] * 50 + [1] * 90 + [0] * 110})
    >>> answers = pl.DataFrame({"group": ["a"] * 100 + ["b"] * 100,
    ...     "negative": [1] * 60 + [0] * 40 + [1] * 27 + [0] * 73})
    >>> table = corrected_rates(answers, classifier_error(labelled))
    >>> table.select("group", "judged", pl.col("estimate").round(6), "harmed").rows()
    [('a', 60.0, 25.0, False), ('b', 27.0, 30.0, False)]
    """
    if not 0 < alpha < 1:
        raise UsageError(f"corrected_rates got alpha={alpha}.", "It lies between 0 and 1 (0.05 is usual).")
    outcomes = negative_outcomes(frame, "corrected_rates")
    counts = group_counts(outcomes, cluster_column(frame, cluster, "corrected_rates"))
    labelled = _labelled(counts.names, error, pooled)
    totals = counts.effective_totals.astype(np.float64)
    share = np.divide(counts.negatives, counts.totals, out=np.zeros(len(totals)), where=counts.totals > 0)
    group = _correct(share * totals, totals, *(labelled[name].to_numpy() for name in _COUNTS))
    # groups that share one labelled set share its luck: their errors are one random quantity, not many
    source = np.zeros(len(totals), dtype=np.intp) if pooled else np.arange(len(totals))
    background, spread = _against_others(group, np.where(group.usable, totals, 0.0), source)
    difference = group.estimate - background
    tested = group.usable & ~np.isnan(difference)
    # Lang and Reiczigel's centre: with the estimate itself, lucky specificities made harmed groups of like ones
    centre = (group.low + group.high) / 2 - background
    p = np.where(tested, ndtr(-centre / np.where(tested, spread, 1.0)), np.nan)
    q = benjamini_hochberg(p)
    percent = {
        "judged": np.where(counts.totals > 0, share, np.nan),
        "estimate": group.estimate,
        "low": np.clip(group.low, 0.0, 1.0),
        "high": np.clip(group.high, 0.0, 1.0),
        "background": np.where(tested, background, np.nan),
        "difference": np.where(tested, difference, np.nan),
        "difference_low": np.where(tested, centre - _REACH * spread, np.nan),
        "difference_high": np.where(tested, centre + _REACH * spread, np.nan),
    }
    values = {name: 100 * value for name, value in percent.items()} | {"p": p, "q": q}
    return counts.names.select(
        "axis",
        "group",
        *(pl.Series(name, value, dtype=pl.Float64).fill_nan(None) for name, value in values.items()),
        pl.Series("harmed", tested & (np.nan_to_num(q, nan=1.0) <= alpha)),
        pl.Series("n", counts.totals),
        "n_missing",
        pl.Series("flag", group.flags, dtype=pl.String),
    )


_COUNTS = ("found", "positives", "cleared", "negatives")


@dataclass(frozen=True)
class _Corrected:
    """Corrected shares of the groups, and the parts of which their uncertainty is made."""

    estimate: Floats
    low: Floats
    high: Floats
    usable: Flags
    """Whether the classifier is shown to tell anything about the group."""
    flags: list[str | None]
    youden: Floats
    of_rate: Floats
    of_sensitivity: Floats
    of_specificity: Floats


def _correct(
    negatives: Floats, totals: Floats, found: Floats, positives: Floats, cleared: Floats, benign: Floats
) -> _Corrected:
    counted = (totals > 0) & (positives > 0) & (benign > 0)
    whole = [np.where(counted, count, 1.0) for count in (totals, positives, benign)]
    plain = rogan_gladen(negatives / whole[0], found / whole[1], cleared / whole[2])
    # with half the squared quantile, and one success and one failure, no variance is ever zero
    square = _REACH**2
    rate = (negatives + square / 2) / (totals + square)
    sensitivity, specificity = (found + 1) / (positives + 2), (cleared + 1) / (benign + 2)
    of_rate = rate * (1 - rate) / (totals + square)
    of_sensitivity = sensitivity * (1 - sensitivity) / (positives + 2)
    of_specificity = specificity * (1 - specificity) / (benign + 2)
    youden = sensitivity + specificity - 1
    shown = youden > _REACH * np.sqrt(of_sensitivity + of_specificity)
    usable = counted & shown & ~np.isnan(plain)
    divisor = np.where(usable, youden, 1.0)
    true = (rate + specificity - 1) / divisor
    centre = true + 2 * square * (true * of_sensitivity - (1 - true) * of_specificity)
    reach = _REACH * np.sqrt(of_rate + true**2 * of_sensitivity + (1 - true) ** 2 * of_specificity) / divisor
    flags = [_flag(*row) for row in zip(plain, counted, usable, strict=True)]
    # where the classifier may be guessing the true rate may be anything
    low, high = np.where(usable, centre - reach, 0.0), np.where(usable, centre + reach, 1.0)
    estimate = np.where(counted, plain, np.nan)
    return _Corrected(estimate, low, high, usable, flags, divisor, of_rate, of_sensitivity, of_specificity)


def _flag(estimate: float, counted: bool, usable: bool) -> str | None:
    if not counted:
        return NO_LABELLED
    if np.isnan(estimate):
        return NO_BETTER_THAN_CHANCE
    if not usable:
        return PERHAPS_CHANCE
    return BELOW_ZERO if estimate < 0 else ABOVE_ONE if estimate > 1 else None


def _against_others(group: _Corrected, weight: Floats, source: Indices) -> tuple[Floats, Floats]:
    """The others' corrected rate for each group, and the standard error of the difference from it."""
    estimate = np.where(group.usable, group.estimate, 0.0)
    rest = weight.sum() - weight
    share = np.divide(1.0, rest, out=np.full(len(rest), np.nan), where=rest > 0)
    background = (np.sum(weight * estimate) - weight * estimate) * share
    rates = group.of_rate / group.youden**2
    variance = rates + (np.sum(weight**2 * rates) - weight**2 * rates) * share**2
    for slope, spread in (
        (estimate / group.youden, group.of_sensitivity),
        ((1 - estimate) / group.youden, group.of_specificity),
    ):
        of_source, first = np.unique(source, return_index=True)
        pull = np.bincount(source, weights=weight * slope, minlength=len(of_source))
        own = source  # sources are numbered 0, 1, ...
        elsewhere = np.sum(pull**2 * spread[first]) - pull[own] ** 2 * spread
        at_home = (slope - (pull[own] - weight * slope) * share) ** 2 * spread
        variance = variance + elsewhere * share**2 + at_home
    return background, np.sqrt(variance)


def _labelled(names: pl.DataFrame, error: ClassifierError, pooled: bool) -> pl.DataFrame:
    if pooled:
        return (
            names.select("group")
            .join(error.pooled.select(_COUNTS), how="cross")
            .cast(dict.fromkeys(_COUNTS, pl.Float64))
        )
    table = names.join(
        error.groups.select("axis", "group", *_COUNTS),
        on=["axis", "group"],
        how="left",
        nulls_equal=True,
        maintain_order="left",
    )
    unknown = table.filter(pl.col("positives").is_null())["group"].to_list()
    if unknown:
        raise DataError(
            f"corrected_rates has no labelled texts of {len(unknown)} of {names.height} groups, {unknown[0]!r} first.",
            "Label texts about them, leave them out, or take the classifier's error over all groups: pooled=True.",
        )
    return table.cast(dict.fromkeys(_COUNTS, pl.Float64))
