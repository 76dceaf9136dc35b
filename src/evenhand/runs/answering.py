"""Putting requests to a model and turning its answers, or its failures, into response rows."""

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evenhand.models.contract import LanguageModel, Likelihoods, text_generator
from evenhand.runs.generating import as_responses, continuation_rows
from evenhand.runs.halving import ask_in_halves, rows_before
from evenhand.runs.plan import span_list
from evenhand.runs.requests import decoding_of
from evenhand.schema import EvenhandError, ModelError, ResponseError

TOKEN_COLUMNS = ("token_ids", "token_log_likelihoods", "token_starts")


def answer(model: LanguageModel, requests: pl.DataFrame) -> pl.DataFrame:
    """The response rows of each request, one for each sample; a text on which the model fails gets error rows.

    When a batch fails it is halved, level by level, until the texts that cause it stand alone.

    Arguments: model: who is asked. requests: rows of `Plan.requests`, all with the same masking and decoding.
    Returns: a RESPONSES frame (in another order if a batch failed).
    Raises EvenhandError as the model raises it, and ModelError if it answers nothing at all.
    Source: DESIGN.md, "The engine" (row errors are rows).
    """
    stored = requests["decoding"][0]
    if stored is not None:
        decoding, writer = decoding_of(stored), text_generator(model)

    def rows(batch: pl.DataFrame, answers: Any) -> pl.DataFrame:
        return (
            response_rows(batch, answers) if stored is None else continuation_rows(batch, answers, decoding)
        )

    def ask(batch: pl.DataFrame) -> pl.DataFrame:
        try:
            if stored is None:
                return rows(batch, _score(model, batch))
            return rows(batch, writer.generate(batch["text"].to_list(), decoding))
        except EvenhandError as error:
            rows_before(error, batch, model, rows)
            raise

    return ask_in_halves(requests, ask, _failed_rows, asked=model, code=ResponseError.MODEL_ERROR)


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
    return as_responses(found)


def _score(model: LanguageModel, requests: pl.DataFrame) -> Likelihoods:
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


def _failed_rows(request: pl.DataFrame, code: str, told: str) -> pl.DataFrame:
    rows = request.select("request_id", sample=pl.int_ranges(0, "samples", dtype=pl.UInt16)).explode("sample")
    return as_responses(rows.with_columns(error=pl.lit(code), detail=pl.lit(told)))
