"""Counts by random folds of documents, and the intervals that their spread gives.

A corpus is dealt into folds by a hash of each document's text, so that copies of a text stay together. What differs
between folds by more than chance would make it (documents that repeat a word, copies) widens every interval.
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
    """One corpus: what its folds hold.

    name: of the corpus. folds: (folds,), the numbers of those that hold documents. totals: rows of the table of totals
    in that order.
    """

    name: str
    folds: Codes
    totals: pl.DataFrame

    def total(self, column: str) -> Floats:
        """A column of the totals, (folds,)."""
        return self.totals[column].to_numpy().astype(np.float64)

    def sums(self, counts: pl.DataFrame, rows: Codes, n_rows: int, column: str) -> Floats:
        """A column of counts as (n_rows, folds); rows: (counts.height,), where each row of `counts` belongs."""
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

    Raises DataError if one of them contains something else, or if `fold` or a count is no whole number from 0 on.

    Parameters
    ----------
    texts
        Columns of texts in addition to `corpus`.
    nullable
        Columns of texts or null.
    """
    if not (table.is_empty() and {"corpus", "fold", *texts, *nullable, *counts} <= set(table.columns)):
        require_texts(table, ["corpus", *texts], measure)
        require_texts(table, nullable, measure, null=True)
        require_counts(table, ["fold", *counts], measure)
    return table.cast(dict.fromkeys(("fold", *counts), pl.Int64))


def folded(totals: pl.DataFrame, measure: str, *sizes: str) -> list[Folded]:
    """Each corpus of a table of totals, in the order of their first rows; folds without documents are left out.

    Raises DataError for a column that is absent or holds no counts, for a table without a document, and for a fold that
    a corpus has twice.

    Parameters
    ----------
    sizes
        Further columns of the totals, such as words.
    """
    totals = counted_by_fold(totals, measure, ["documents", *sizes])
    held = totals.filter(pl.col("documents") > 0)
    if held.is_empty():
        raise DataError(f"{measure} was given totals without a document.", "Count a corpus that has some.")
    if held.select("corpus", "fold").is_duplicated().any():
        raise DataError(
            f"{measure} found a fold twice in one corpus.",
            "Add up counts of one corpus before: one row a fold.",
        )
    names = held["corpus"].unique(maintain_order=True)
    parts = ((name, held.filter(pl.col("corpus") == name).sort("fold")) for name in names)
    return [Folded(name, part["fold"].to_numpy().astype(np.int64), part) for name, part in parts]


def of_corpus(counts: pl.DataFrame, corpus: Folded) -> pl.DataFrame:
    """The rows of one corpus; what stands in a fold without documents cannot be."""
    mine = counts.filter(pl.col("corpus") == corpus.name)
    strange = mine.filter(~pl.col("fold").is_in(corpus.folds.tolist()))
    if strange.height:
        raise DataError(
            f"Counts of {corpus.name} are in fold {strange['fold'][0]}, which has no documents by the totals.",
            "Give totals and counts of the same documents.",
        )
    return mine


@dataclass(frozen=True)
class Shares:
    """Shares (rows,) of 1 with limits, standard error, and for how many independent cases they stand."""

    estimate: Floats
    low: Floats
    high: Floats
    standard_error: Floats
    effective: Floats


def clustered_shares(successes: Floats, totals: Floats, *, units: Floats | None = None) -> Shares:
    """Shares of cases that come in folds, with exact limits at as many independent cases as the folds' spread tells.

    Never more cases than there are. Without any the limits are 0 and 1; with fewer than LEAST_FOLDS folds there are
    none (NaN, also `effective`).

    Parameters
    ----------
    successes, totals
        (rows, folds) or what broadcasts to it.
    units
        (rows,), how many independent cases there can be at most where folds do not differ at all (documents, where hits
        are counted); None: all.

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
    # folds that do not differ (0 hits, or all) say nothing of how cases hang together
    effective = np.nan_to_num(
        np.where(error > 1e-15, np.minimum(independent, n), n if units is None else np.minimum(units, n))
    )
    low, high = clopper_pearson_interval(np.minimum(np.nan_to_num(share) * effective, effective), effective)
    return Shares(share, low, high, error, effective)


def jackknifed(statistic: Callable[..., Floats], *sums: Floats) -> Intervals:
    """A statistic of sums with t limits from its values without each fold in turn.

    statistic: of arrays that broadcast, element by element. sums: each (rows, folds) or (folds,). Where it is not
    finite, for all folds or without one of them, or the same without each, or with fewer than
    LEAST_FOLDS folds, limits and error are NaN.
    """
    together = [np.atleast_2d(part) for part in sums]
    with np.errstate(all="ignore"):
        whole = np.asarray(statistic(*(part.sum(axis=1) for part in together)))
        without = np.asarray(statistic(*((part.sum(axis=1, keepdims=True) - part).T for part in together)))
        several = max(part.shape[1] for part in together) >= LEAST_FOLDS
        differs = several & np.isfinite(without).all(axis=0) & (np.ptp(without, axis=0) > 1e-12)
        # what no fold changes is not known for certain: as of two documents that both hold she and he
        known = np.isfinite(whole)
        return jackknife(np.where(known, whole, np.nan), np.where(differs, without, np.nan))


def two_sided_p(found: Intervals, degrees: Floats | int) -> Floats:
    """p of the hypothesis that the truth is 0, by t of as many degrees of freedom; NaN without a standard error."""
    from scipy.special import stdtr

    with np.errstate(all="ignore"):
        t = np.abs(found.estimate) / found.standard_error
    return np.asarray(2 * stdtr(np.maximum(degrees, 1), -t))


def with_degrees(found: Intervals, degrees: Floats) -> tuple[Floats, Floats]:
    """95 % limits by t of as many degrees of freedom, low and high; NaN without a standard error."""
    wide = stdtrit(np.maximum(degrees, 1), 0.5 + LEVEL / 2) * found.standard_error
    return found.estimate - wide, found.estimate + wide


def evenly_dealt(sums: Floats) -> tuple[Floats, Floats]:
    """Over how many equal folds counts (rows, folds) are dealt, and of how many equal documents that may come: (rows,).

    The first is Kish's effective number. Counts of n equal documents that are dealt at random have 1 / n more than
    1 / folds as its inverse; n is at most the counts. Rows without counts have 0 of both.
    Source: Kish 1965, Survey sampling, section 11.2.

    >>> [part.round(1).tolist() for part in evenly_dealt(np.array([[5.0, 5.0, 0.0, 0.0], [9.0, 11.0, 10.0, 10.0]]))]
    [[2.0, 4.0], [3.0, 40.0]]
    """
    total, folds = sums.sum(axis=1), sums.shape[1]
    with np.errstate(all="ignore"):
        equal = np.nan_to_num(np.square(total) / np.square(sums).sum(axis=1))
        documents = (1 - 1 / folds) / np.maximum(1 / equal - 1 / folds, 0.0)
    return equal, np.nan_to_num(np.fmin(documents, total))


def rows_at(keys: pl.DataFrame, counts: pl.DataFrame, columns: Sequence[str]) -> Codes:
    """For each row of `counts` the place of its key in `keys`, which holds each once."""
    places = keys.select(columns).with_row_index("place")
    found = counts.select(columns).join(places, on=list(columns), how="left", maintain_order="left")
    return found["place"].to_numpy().astype(np.int64)
