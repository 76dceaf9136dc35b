"""Count terms in texts that are already in memory, for use in a custom pipeline."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from evenhand.corpus.counting.counter import Counter, Finder
from evenhand.corpus.counting.counts import TABLES, Counts
from evenhand.corpus.counting.options import DEFAULT_PAIRS, WINDOW
from evenhand.corpus.matching import Matcher
from evenhand.corpus.reading import Batch, Piece, Reason, assign_fold
from evenhand.corpus.terms import TermTable
from evenhand.schema import UsageError, unknown_column


def count_batch(
    batch: Any,
    table: TermTable,
    *,
    column: str = "text",
    corpus: str = "texts",
    matcher: Finder | None = None,
    pairs: Sequence[str] = DEFAULT_PAIRS,
    window: int = WINDOW,
) -> Counts:
    """Count the terms of a table in a batch of texts.

    Use it if your own program reads the corpus. `evenhand.frequencies` reads files itself.

    Parameters
    ----------
    batch : list of str, or an Arrow object
        The texts. An Arrow object is a record batch, table or column of pyarrow, a frame or series of Polars
        or pandas, or a DuckDB result. Null and blank texts are counted as skipped.
    table : TermTable
        The terms.
    column : str, default "text"
        Column that contains the texts, if `batch` is a table.
    corpus : str, default "texts"
        Name of the corpus in the counts.
    matcher : Finder, optional
        `Matcher(table)`. Pass it if there are many batches, so that it is created only once.
    pairs, window
        As in `CountingOptions`.

    Returns
    -------
    Counts
        Counts that `merged` adds to those of other batches. They contain no contexts and no sources.

    Raises
    ------
    UsageError
        The batch has no such texts.

    Notes
    -----
    Because the counts have no sources, counting a batch twice is not detected.

    Examples
    --------
    >>> from evenhand.corpus import build_terms, merged
    >>> table = build_terms(["pronouns"])
    >>> parts = [count_batch(["She saw him.", "Nobody came."], table), count_batch(["He saw her, and she ran."], table)]
    >>> merged(parts).groups.filter(group="she").select("documents", "hits").sum().row(0)
    (2, 3)
    """
    texts = _texts(batch, column)
    counter = Counter(table, matcher or Matcher(table), corpus=corpus, pairs=pairs, window=window, contexts=0)
    whole = [(place, text) for place, text in enumerate(texts) if text and not text.isspace()]
    absent = sum(text is None for text in texts)
    skipped = {Reason.NO_TEXT: absent, Reason.EMPTY: len(texts) - absent - len(whole)}
    counter.add(
        Batch(
            [text for _, text in whole],
            [assign_fold(text) for _, text in whole],
            [place for place, _ in whole],
            {reason: documents for reason, documents in skipped.items() if documents},
        ),
        Piece(corpus, "", "memory", 0),
    )
    return replace(counter.counts(), sources=pl.DataFrame(schema=TABLES["sources"]))


def _texts(batch: Any, column: str) -> list[str | None]:
    if isinstance(batch, pl.Series):
        series = batch
    elif isinstance(batch, pl.DataFrame) or hasattr(batch, "schema"):
        series = _column(pl.DataFrame(batch), column)
    elif hasattr(batch, "__arrow_c_array__") or hasattr(batch, "__arrow_c_stream__"):
        series = pl.Series(batch)
        if isinstance(series.dtype, pl.Struct):  # a table without an Arrow table type, such as one of pandas
            series = _column(series.struct.unnest(), column)
    else:
        several = list(batch)
        if not all(text is None or isinstance(text, str) for text in several):
            raise UsageError(
                "The batch contains values that are not texts.", "Give a list of texts, or a column of them."
            )
        return several
    if series.dtype not in (pl.String, pl.Categorical, pl.Null) and not isinstance(series.dtype, pl.Enum):
        raise UsageError(
            f"The column has the type {series.dtype}, not text.", "Give the column that contains texts."
        )
    found: list[str | None] = series.cast(pl.String).to_list()
    return found


def _column(frame: pl.DataFrame, column: str) -> pl.Series:
    if column not in frame.columns:
        raise unknown_column(
            "The batch", column, frame.columns, "Give the one that contains the texts: column=..."
        )
    return frame[column]
