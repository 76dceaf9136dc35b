"""How often a classifier is wrong about each group: sensitivity and specificity on texts whose truth is known."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from evenhand.measures.columns import require_columns
from evenhand.measures.outcomes import negative_outcomes
from evenhand.schema import DataError
from evenhand.stats import risk_difference
from evenhand.stats.rates import group_counts

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
    found = _tallied(rows.filter(truth=1.0), cluster, "n_positive", "found", "positives", "sensitivity")
    # specificity is counted as texts rightly let pass
    passed = rows.filter(truth=0.0).with_columns(negative=1 - pl.col("negative"))
    cleared = _tallied(passed, cluster, "n_negative", "cleared", "negatives", "specificity")
    missing = rows.group_by(_KEYS).agg(n_missing=pl.col("negative").null_count().cast(pl.Int64))
    table = names
    for part in (found, cleared, missing):
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
    there = counts.totals > 0
    share = counts.negatives / np.maximum(counts.totals, 1)
    values = {rate: share, f"{rate}_low": counts.low, f"{rate}_high": counts.high}
    return counts.names.select(_KEYS).with_columns(
        pl.Series(n, counts.totals),
        pl.Series(hits, counts.effective_negatives),
        pl.Series(effective, counts.effective_totals),
        *(
            pl.Series(name, np.where(there, 100.0 * value, np.nan)).fill_nan(None)
            for name, value in values.items()
        ),
    )


def _with_differences(table: pl.DataFrame) -> pl.DataFrame:
    alarms = (table["negatives"] - table["cleared"]).to_numpy()
    benign = table["negatives"].to_numpy()
    others_alarms, others_benign = alarms.sum() - alarms, benign.sum() - benign
    rows: list[tuple[float | None, float | None, float | None]] = []
    for own, total, other, other_total in zip(alarms, benign, others_alarms, others_benign, strict=True):
        if not total or not other_total:
            rows.append((None, None, None))
            continue
        gap = risk_difference(int(own), int(total), int(other), int(other_total))
        rows.append((100 * gap.estimate, 100 * gap.low, 100 * gap.high))
    name = "false_positive_difference"
    columns = pl.DataFrame(
        rows, schema=dict.fromkeys((name, f"{name}_low", f"{name}_high"), pl.Float64), orient="row"
    )
    order = (
        *_KEYS,
        "sensitivity",
        "sensitivity_low",
        "sensitivity_high",
        "specificity",
        "specificity_low",
        "specificity_high",
        *columns.columns,
        "n_positive",
        "n_negative",
        "n_missing",
        "found",
        "positives",
        "cleared",
        "negatives",
    )
    return table.hstack(columns).select(order)
