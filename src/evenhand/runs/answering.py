"""Putting requests to a model and turning its answers, or its failures, into response rows."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evenhand.models.contract import LanguageModel, Likelihoods
from evenhand.runs.plan import span_list
from evenhand.runs.shards import COLUMNS
from evenhand.schema import EvenhandError, ModelError, ResponseError

HOPELESS = 20
"""So many texts failing one by one, with nothing answered in their batch, means the model is broken."""

TOKEN_COLUMNS = ("token_ids", "token_log_likelihoods", "token_starts")


def answer(model: LanguageModel, requests: pl.DataFrame) -> pl.DataFrame:
    """One response row for each request; a text on which the model fails becomes an error row.

    When a batch fails it is halved, level by level, until the texts that cause it stand alone.

    Arguments: model: who is asked. requests: rows of `Plan.requests`, all with the same masking.
    Returns: a RESPONSES frame (in another order if a batch failed).
    Raises EvenhandError as the model raises it, and ModelError if it answers nothing at all.
    Source: DESIGN.md, "The engine" (row errors are rows).
    """
    level = [requests]
    answered: list[pl.DataFrame] = []
    alone: list[pl.DataFrame] = []
    while level:
        halves: list[pl.DataFrame] = []
        for batch in level:
            try:
                likelihoods = _ask(model, batch)
            except EvenhandError:
                raise
            # A backend is anybody's code: which exceptions it raises for a text cannot be known.
            except Exception as error:
                if batch.height > 1:
                    middle = batch.height // 2
                    halves += [batch[:middle], batch[middle:]]
                    continue
                alone.append(_failed_row(batch, error))
                if not answered and len(alone) == HOPELESS:
                    raise ModelError(
                        f"{type(model).__name__} failed on each of {HOPELESS} texts asked one by one; "
                        f"the last said {_told(error)}.",
                        "Nothing was recorded for these texts: mend the model and resume the run.",
                    ) from error
            else:
                answered.append(response_rows(batch, likelihoods))
        level = halves
    return pl.concat(answered + alone)


def response_rows(requests: pl.DataFrame, likelihoods: Likelihoods) -> pl.DataFrame:
    """The response table of some likelihoods, without a loop over rows.

    Sums are taken per row, so that a row's value does not depend on its neighbours, and a token that
    is not finite spoils its own row only.

    Arguments: requests: n rows of `Plan.requests`. likelihoods: of the same n texts.
    Returns: a RESPONSES frame of n rows; token lists only where the request keeps them.
    Raises ModelError if the answer does not have the shape the contract demands.
    """
    _check_shape(requests.height, likelihoods)
    n, counts = requests.height, likelihoods.counts
    row_of = np.repeat(np.arange(n), counts)
    values = likelihoods.log_probs.astype(np.float64)
    finite = np.isfinite(values)
    spoiled = np.zeros(n, dtype=bool)
    spoiled[row_of[~finite]] = True
    sums = np.bincount(row_of, weights=np.where(finite, values, 0.0), minlength=n)
    found = pl.DataFrame(
        {
            "request_id": requests["request_id"],
            "log_likelihood": sums,
            "token_count": counts,
            "error": pl.Series(likelihoods.errors, dtype=pl.String),
            "detail": pl.Series(likelihoods.details or [None] * n, dtype=pl.String),
            "spoiled": spoiled,
        }
    )
    good = pl.col("error").is_null()
    not_finite, no_token = good & pl.col("spoiled"), good & (pl.col("token_count") == 0)
    found = found.with_columns(
        pl.when(not_finite)
        .then(pl.lit(str(ResponseError.NOT_FINITE)))
        .when(no_token)
        .then(pl.lit(str(ResponseError.NO_SCORED_TOKEN)))
        .otherwise("error")
        .alias("error"),
        pl.when(not_finite)
        .then(pl.lit("the model gave NaN or infinity as a log probability"))
        .when(no_token)
        .then(pl.lit("the model listed no token for this text"))
        .otherwise("detail")
        .alias("detail"),
    )
    found = found.with_columns(
        pl.when(good).then(name).alias(name) for name in ("log_likelihood", "token_count")
    )
    kept = requests["keep_tokens"].to_numpy() & found["error"].is_null().to_numpy()
    if kept.any():
        found = _with_tokens(found, likelihoods, row_of, kept)
    return _as_responses(found)


def _ask(model: LanguageModel, requests: pl.DataFrame) -> Likelihoods:
    texts = requests["text"].to_list()
    n = len(texts)
    contexts = requests["context"].to_list() if requests["context"].null_count() < n else None
    spans = span_list(requests) if requests["span_start"].null_count() < n else None
    # Said only when wanted: offsets cost time, and a model that has none need not know the word.
    starts = {"want_starts": True} if requests["keep_tokens"].any() else {}
    return model.log_likelihoods(texts, contexts, spans=spans, masking=requests["masking"][0], **starts)


def _check_shape(n: int, likelihoods: Likelihoods) -> None:
    offsets, total = likelihoods.offsets, len(likelihoods.log_probs)
    rows_agree = len(likelihoods) == n == len(offsets) - 1 and len(likelihoods.details) in (0, n)
    tokens_agree = len(likelihoods.token_ids) == total and len(likelihoods.starts) in (0, total)
    if not (rows_agree and tokens_agree and offsets[0] == 0 and offsets[-1] == total):
        raise ModelError(
            f"The model was asked about {n} texts and answered {len(likelihoods)} rows with "
            f"{len(offsets)} offsets up to {offsets[-1] if len(offsets) else None} for {total} tokens.",
            "Likelihoods need n errors, n + 1 offsets from 0 to the number of tokens, and arrays of that many "
            "tokens (evenhand.models.contract).",
        )


def _with_tokens(
    found: pl.DataFrame, likelihoods: Likelihoods, row_of: NDArray[np.int64], kept: NDArray[np.bool_]
) -> pl.DataFrame:
    arrays = (likelihoods.token_ids, likelihoods.log_probs, likelihoods.starts)
    # A model without offsets gives no starts: that column then stays null.
    columns = {name: array for name, array in zip(TOKEN_COLUMNS, arrays, strict=True) if len(array)}
    tokens = pl.DataFrame({"row": row_of, **columns})
    lists = tokens.filter(kept[row_of]).group_by("row", maintain_order=True).all()
    numbered = found.with_columns(row=pl.int_range(pl.len(), dtype=pl.Int64))
    return numbered.join(lists, on="row", how="left", maintain_order="left")


def _failed_row(request: pl.DataFrame, error: Exception) -> pl.DataFrame:
    # torch's error is known by its name: importing torch for a puppet would cost seconds.
    memory = isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"
    code = ResponseError.OUT_OF_MEMORY if memory else ResponseError.MODEL_ERROR
    return _as_responses(request.select("request_id", error=pl.lit(str(code)), detail=pl.lit(_told(error))))


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:500]


def _as_responses(found: pl.DataFrame) -> pl.DataFrame:
    return found.select(
        [
            pl.col(name).cast(kind) if name in found.columns else pl.lit(None, dtype=kind).alias(name)
            for name, kind in COLUMNS.items()
            if name != "sample"
        ]
    ).select(pl.lit(0, dtype=pl.UInt16).alias("sample") if name == "sample" else name for name in COLUMNS)
