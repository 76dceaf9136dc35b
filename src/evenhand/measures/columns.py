"""Checks what comes in: the columns a measure needs, and log-perplexity from whichever columns are there."""

from collections.abc import Sequence
from typing import Literal

import polars as pl

from evenhand.schema import DataError, UsageError

Length = Literal["shared", "own"]


def require_columns(frame: pl.DataFrame, columns: Sequence[str], measure: str) -> None:
    """Raise a DataError that names the columns `measure` needs and `frame` lacks."""
    missing = [name for name in columns if name not in frame.columns]
    if missing:
        raise DataError(
            f"{measure} needs the column{'s' if len(missing) > 1 else ''} {', '.join(missing)}; "
            f"the table has {', '.join(frame.columns) or 'no columns'}.",
            "Rename your columns to these names, or add them.",
        )
    if frame.is_empty():
        raise DataError(
            f"{measure} was given a table without rows.", "Check the selection (axis, limit, filters)."
        )


def with_log_perplexity(frame: pl.DataFrame, measure: str) -> pl.DataFrame:
    """Add `log_perplexity` (nats per token), if absent, from perplexity or log_likelihood and token_count.

    Anything that is not a finite number becomes null: a missing value, to be counted by the caller.
    Raises DataError if none of these columns is there or a perplexity is not positive.

    >>> with_log_perplexity(pl.DataFrame({"perplexity": [1.0, None]}), "m")["log_perplexity"].to_list()
    [0.0, None]
    """
    names = frame.columns
    if "log_perplexity" in names:
        value = pl.col("log_perplexity").cast(pl.Float64)
    elif "perplexity" in names:
        worst = frame.select(pl.col("perplexity").cast(pl.Float64).fill_nan(None).min()).item()
        if worst is not None and worst <= 0:
            raise DataError(
                f"{measure} found a perplexity of {worst}; a perplexity is positive.",
                "If the column holds logarithms, name it log_perplexity; mark failed rows as null or NaN.",
            )
        value = pl.col("perplexity").cast(pl.Float64).log()
    elif "log_likelihood" in names and "token_count" in names:
        tokens = pl.col("token_count").cast(pl.Float64)
        value = pl.when(tokens > 0).then(-pl.col("log_likelihood").cast(pl.Float64) / tokens)
    else:
        raise DataError(
            f"{measure} needs perplexity, or log_perplexity, or log_likelihood with token_count; "
            f"the table has {', '.join(names)}.",
            "Rename your columns to one of these.",
        )
    return frame.with_columns(pl.when(value.is_finite()).then(value).alias("log_perplexity"))


def with_surprisal(frame: pl.DataFrame, measure: str, length: Length | None) -> tuple[pl.DataFrame, Length]:
    """Add `surprisal`, nats per token, by which sentences with different descriptors are compared.

    length "shared": minus the sentence's log-likelihood over the number of tokens that sentences of the
    same axis, template and noun have on average, so that equally likely sentences are equal however the
    tokenizer cuts them. "own": over its own number of tokens, the log-perplexity. None takes "shared" if
    log_likelihood and token_count are there. Returns the frame and which was taken.
    Raises DataError if "shared" lacks a column, UsageError for another length.
    """
    able = {"log_likelihood", "token_count"} <= set(frame.columns)
    chosen: Length = length or ("shared" if able else "own")
    if chosen not in ("shared", "own"):
        raise UsageError(f"{measure} got length={length!r}.", 'It is "shared", "own" or None.')
    if chosen == "own":
        return frame.with_columns(surprisal=pl.col("log_perplexity")), chosen
    if not able:
        require_columns(frame, ["log_likelihood", "token_count"], f'{measure} with length="shared"')
    known = pl.col("log_perplexity").is_not_null()
    tokens = pl.when(known).then(pl.col("token_count").cast(pl.Float64))
    average = tokens.mean().over("axis", "template", "noun")
    value = pl.when(known).then(-pl.col("log_likelihood").cast(pl.Float64) / average)
    return frame.with_columns(surprisal=pl.when(value.is_finite()).then(value)), chosen
