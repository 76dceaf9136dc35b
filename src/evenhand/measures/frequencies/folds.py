"""Counts by random folds of documents, and the intervals that follow from the variation between folds.

A corpus is divided into folds by a hash of each document's text, so that copies of a text are in the same fold.
Variation between folds beyond chance (documents that repeat a word, copies) widens all intervals.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.special import ndtri, stdtrit

from evenhand.measures.columns import require_counts, require_texts
from evenhand.schema import DataError
from evenhand.stats import Codes, Floats, Intervals, clopper_pearson_interval, cluster_t, jackknife

LEVEL = 0.95
LEAST_FOLDS = 3
"""Minimum number of folds with documents for an interval. With fewer, t has one degree of freedom and gives no
information."""


@dataclass(frozen=True)
class Folded:
    """Totals of one corpus by fold.

    ``name`` is the name of the corpus. ``folds`` (folds,) are the numbers of the folds with documents, and ``totals``
    has their rows in this order.
    """

    name: str
    folds: Codes
    totals: pl.DataFrame

    def total(self, column: str) -> Floats:
        """Return a column of the totals, shape (folds,)."""
        return self.totals[column].to_numpy().astype(np.float64)

    def sums(self, counts: pl.DataFrame, rows: Codes, n_rows: int, column: str) -> Floats:
        """Return a column of counts as a table (n_rows, folds); `rows` (counts.height,) are the target rows."""
        result = np.zeros((n_rows, len(self.folds)))
        places = np.searchsorted(self.folds, counts["fold"].to_numpy())
        np.add.at(result, (rows, places), counts[column].to_numpy().astype(np.float64))
        return result


def counted_by_fold(
    table: pl.DataFrame,
    measure: str,
    counts: Sequence[str],
    *,
    texts: Sequence[str] = (),
    nullable: Sequence[str] = (),
) -> pl.DataFrame:
    """Return a table of counts with `fold` and all counts as Int64; it may have no rows.

    Raises DataError if a column has other values, or if `fold` or a count is not a whole number of 0 or more.

    Parameters
    ----------
    texts : sequence of str
        Columns with texts in addition to `corpus`.
    nullable : sequence of str
        Columns with texts or null.
    """
    if not (table.is_empty() and {"corpus", "fold", *texts, *nullable, *counts} <= set(table.columns)):
        require_texts(table, ["corpus", *texts], measure)
        require_texts(table, nullable, measure, null=True)
        require_counts(table, ["fold", *counts], measure)
    return table.cast(dict.fromkeys(("fold", *counts), pl.Int64))


def folded(totals: pl.DataFrame, measure: str, *sizes: str) -> list[Folded]:
    """Return each corpus of a table of totals, in the order of their first rows, without folds that have no documents.

    Raises DataError if a column is missing or has no counts, if there are no documents, or if a corpus has a fold
    twice. `sizes` are further columns of the totals, such as words.
    """
    totals = counted_by_fold(totals, measure, ["documents", *sizes])
    held = totals.filter(pl.col("documents") > 0)
    if held.is_empty():
        raise DataError(
            f"{measure}: totals contains no documents.", "Count a corpus that has at least one document."
        )
    if held.select("corpus", "fold").is_duplicated().any():
        raise DataError(
            f"{measure}: totals contains more than one row for a corpus and fold.",
            "Add up the counts of each corpus first, so that it has one row per fold.",
        )
    names = held["corpus"].unique(maintain_order=True)
    parts = ((name, held.filter(pl.col("corpus") == name).sort("fold")) for name in names)
    return [Folded(name, part["fold"].to_numpy().astype(np.int64), part) for name, part in parts]


def of_corpus(counts: pl.DataFrame, corpus: Folded) -> pl.DataFrame:
    """Return the rows of one corpus; DataError if there are counts in a fold without documents."""
    mine = counts.filter(pl.col("corpus") == corpus.name)
    strange = mine.filter(~pl.col("fold").is_in(corpus.folds.tolist()))
    if strange.height:
        raise DataError(
            f"The counts of the corpus {corpus.name} contain fold {strange['fold'][0]}, which has no documents in "
            "totals.",
            "Give totals and counts of the same documents.",
        )
    return mine


@dataclass(frozen=True)
class Shares:
    """Shares (rows,), from 0 to 1, with interval, standard error and effective number of independent cases."""

    estimate: Floats
    low: Floats
    high: Floats
    standard_error: Floats
    effective: Floats


def clustered_shares(successes: Floats, totals: Floats, *, units: Floats | None = None) -> Shares:
    """Return shares of cases in folds, with exact intervals for the effective number of independent cases.

    This number follows from the variation between folds, and is at most the number of cases. Without any case, the
    interval is 0 to 1. With fewer than LEAST_FOLDS folds, there is no interval (NaN).

    Parameters
    ----------
    successes, totals : numpy.ndarray, shape (rows, folds)
        Counts; shapes broadcast.
    units : numpy.ndarray, shape (rows,), optional
        Largest number of independent cases if folds do not differ at all (documents, if hits are counted). Default: all
        cases.

    References
    ----------
    - Korn & Graubard 1998.

    Examples
    --------
    >>> clustered_shares(np.zeros((1, 4)), np.full((1, 4), 5.0)).high.round(4).tolist()
    [0.1684]
    """
    successes, totals = np.broadcast_arrays(successes, totals)
    hits, n = successes.sum(axis=-1), totals.sum(axis=-1)
    share = np.divide(hits, n, out=np.full(n.shape, np.nan), where=n > 0)
    with np.errstate(invalid="ignore"):
        moved = np.nan_to_num(successes - share[..., None] * totals)
    spread = cluster_t(moved, n)
    error = spread.standard_error
    clusters = int(successes.shape[-1])
    if clusters < LEAST_FOLDS:
        unknown = np.full(n.shape, np.nan)
        return Shares(share, unknown, unknown, error, unknown)
    shrink = (ndtri(0.5 + LEVEL / 2) / stdtrit(clusters - 1, 0.5 + LEVEL / 2)) ** 2
    with np.errstate(invalid="ignore", divide="ignore"):
        independent = share * (1 - share) / np.square(error) * shrink
    # folds that do not differ (0 hits, or all) contain no information about the correlation of cases
    effective = np.nan_to_num(
        np.where(error > 1e-15, np.minimum(independent, n), n if units is None else np.minimum(units, n))
    )
    low, high = clopper_pearson_interval(np.minimum(np.nan_to_num(share) * effective, effective), effective)
    return Shares(share, low, high, error, effective)


def jackknifed(statistic: Callable[..., Floats], *sums: Floats) -> Intervals:
    """Return a statistic of sums with t intervals, from its values without each fold in turn.

    `statistic` is applied to arrays that broadcast. `sums` have the shape (rows, folds) or (folds,). Interval and error
    are NaN if the statistic is not finite, has the same value without each fold, or if there are fewer than LEAST_FOLDS
    folds.
    """
    together = [np.atleast_2d(part) for part in sums]
    with np.errstate(all="ignore"):
        whole = np.asarray(statistic(*(part.sum(axis=1) for part in together)))
        without = np.asarray(statistic(*((part.sum(axis=1, keepdims=True) - part).T for part in together)))
        several = max(part.shape[1] for part in together) >= LEAST_FOLDS
        differs = several & np.isfinite(without).all(axis=0) & (np.ptp(without, axis=0) > 1e-12)
        # a value that is the same without each fold is not known exactly, so it gets no interval
        known = np.isfinite(whole)
        return jackknife(np.where(known, whole, np.nan), np.where(differs, without, np.nan))


def two_sided_p(found: Intervals, degrees: Floats | int) -> Floats:
    """Return p of "the true value is 0" by Student's t with these degrees of freedom; NaN without a standard error."""
    from scipy.special import stdtr

    with np.errstate(all="ignore"):
        t = np.abs(found.estimate) / found.standard_error
    return np.asarray(2 * stdtr(np.maximum(degrees, 1), -t))


def with_degrees(found: Intervals, degrees: Floats) -> tuple[Floats, Floats]:
    """Return the bounds of 95% intervals by Student's t with these degrees of freedom; NaN without a standard error."""
    wide = stdtrit(np.maximum(degrees, 1), 0.5 + LEVEL / 2) * found.standard_error
    return found.estimate - wide, found.estimate + wide


def evenly_dealt(sums: Floats) -> tuple[Floats, Floats]:
    """Return the effective numbers of folds and of documents that contain the counts, both (rows,).

    The first is Kish's effective number of equal folds, of counts (rows, folds). The second is the number n of equal
    documents that would be distributed as unevenly at random: the inverse of the first is then 1 / folds + 1 / n. It is
    at most the count. Rows without counts have 0 for both. Source: Kish 1965, Survey sampling, section 11.2.

    >>> [part.round(1).tolist() for part in evenly_dealt(np.array([[5.0, 5.0, 0.0, 0.0], [9.0, 11.0, 10.0, 10.0]]))]
    [[2.0, 4.0], [3.0, 40.0]]
    """
    total, folds = sums.sum(axis=1), sums.shape[1]
    with np.errstate(all="ignore"):
        equal = np.nan_to_num(np.square(total) / np.square(sums).sum(axis=1))
        documents = (1 - 1 / folds) / np.maximum(1 / equal - 1 / folds, 0.0)
    return equal, np.nan_to_num(np.fmin(documents, total))


def rows_at(keys: pl.DataFrame, counts: pl.DataFrame, columns: Sequence[str]) -> Codes:
    """Return for each row of `counts` the position of its key in `keys`, in which each key occurs once."""
    places = keys.select(columns).with_row_index("place")
    found = counts.select(columns).join(places, on=list(columns), how="left", maintain_order="left")
    return found["place"].to_numpy().astype(np.int64)
