"""A batch of requests put to a model, and its responses or errors as rows.

A batch that fails is halved, level by level, until the texts that cause it stand alone as error rows; classifiers are
asked in the same way (`runs/labelling.py`).
"""

from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evenhand.models import (
    Decoding,
    Generations,
    LanguageModel,
    Likelihoods,
    Texts,
    text_generator,
)
from evenhand.runs.plan import span_list
from evenhand.runs.requests import TOKEN_COLUMNS, decoding_of
from evenhand.schema import RESPONSES, EvenhandError, ModelError, ResponseError, without_surrogates

RETRIED = (
    ResponseError.CLASSIFIER_ERROR,
    ResponseError.MODEL_ERROR,
    ResponseError.REQUEST_REFUSED,
    ResponseError.OUT_OF_MEMORY,
    ResponseError.TIMED_OUT,
    ResponseError.QUOTA,
    ResponseError.UNPARSABLE,
)
"""Codes that a second try may mend: the rest belong to the text."""
HOPELESS = 20
"""If this many texts fail individually and no text of their batch gets a response, the model counts as broken."""


def answer(model: LanguageModel, requests: pl.DataFrame) -> pl.DataFrame:
    """Send requests to a model and return one row per request and sample.

    If a batch fails, it is halved until the texts that cause the failure are found. They get rows with an
    error.

    Parameters
    ----------
    model : LanguageModel
        The model.
    requests : polars.DataFrame
        Rows of `Plan.requests` with the same values of KINDS.

    Returns
    -------
    polars.DataFrame
        The table RESPONSES. Its order differs if a batch failed.

    Raises
    ------
    EvenhandError
        The model raises it.
    ModelError
        The model fails on every text.
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
    responses = pl.DataFrame(
        {
            "request_id": requests["request_id"],
            "log_likelihood": sums,
            "token_count": counts,
            "error": pl.Series(likelihoods.errors, dtype=pl.String),
            "detail": text_series(likelihoods.details or [None] * n),
            "spoiled": spoiled,
        }
    )
    good = pl.col("error").is_null()
    not_finite, no_token = good & pl.col("spoiled"), good & (pl.col("token_count") == 0)
    responses = responses.with_columns(
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
    responses = responses.with_columns(
        pl.when(good).then(name).alias(name) for name in ("log_likelihood", "token_count")
    )
    kept = requests["keep_tokens"].to_numpy() & responses["error"].is_null().to_numpy()
    if kept.any():
        responses = _with_tokens(responses, likelihoods, row_of, kept)
    return as_responses(responses)


def continuation_rows(requests: pl.DataFrame, generations: Generations, decoding: Decoding) -> pl.DataFrame:
    """The response table of some continuations.

    An empty continuation is a good row with text "". A likelihood that is not known is null, and so is the number
    of tokens where a backend lists none for a text that is not empty.

    Arguments: requests: n rows of `Plan.requests`. generations: of the same n texts. decoding: as asked.
    Returns: a RESPONSES frame of n x decoding.samples rows, samples of a request side by side.
    Raises ModelError if the answer does not have the shape the contract demands.
    """
    _check_generations(requests.height, generations, decoding)
    good = pl.col("error").is_null()
    responses = pl.DataFrame(
        {
            "request_id": requests["request_id"].gather(generations.prompt),
            "place": generations.prompt,
            "sample": generations.sample,
            "text": text_series(generations.texts),
            "log_likelihood": pl.Series(generations.log_likelihood, dtype=pl.Float64),
            "token_count": generations.token_count,
            "finish": pl.Series(generations.finish, dtype=pl.String),
            "error": pl.Series(generations.errors, dtype=pl.String),
            "detail": text_series(generations.details or [None] * len(generations)),
        }
    ).sort("place", "sample")
    listed = (pl.col("token_count") > 0) | (pl.col("text") == "")
    known = pl.col("log_likelihood").is_finite() & listed
    return as_responses(
        responses.with_columns(
            log_likelihood=pl.when(good & known).then("log_likelihood"),
            token_count=pl.when(good & listed).then("token_count"),
            text=pl.when(good).then("text"),
            finish=pl.when(good).then("finish"),
        )
    )


def text_series(texts: Sequence[str | None]) -> pl.Series:
    """Texts of a model or service as a column; a lone surrogate, which no table can hold, becomes U+FFFD."""
    return pl.Series([without_surrogates(text) for text in texts], dtype=pl.String)


def as_responses(rows: pl.DataFrame) -> pl.DataFrame:
    """A RESPONSES frame of those of its columns that the rows have; sample 0 unless given, the rest null."""
    return rows.select(
        pl.col(name).cast(kind)
        if name in rows.columns
        else pl.lit(0 if name == "sample" else None, dtype=kind).alias(name)
        for name, kind in RESPONSES.items()
    )


def ask_in_halves(
    batch: pl.DataFrame,
    ask: Callable[[pl.DataFrame], pl.DataFrame],
    failed: Callable[[pl.DataFrame, str, str], pl.DataFrame],
    *,
    asked: object,
    code: ResponseError,
) -> pl.DataFrame:
    """The rows `ask` makes of a batch, with error rows for the texts on which it fails even alone.

    Arguments: batch: at least one text. ask: answers any part of it. failed: makes the error rows of a batch of
    one text, given a code and a message. asked: the model or classifier, to be named. code: of its failures, other
    than memory.
    Returns: all rows, in another order if the batch failed.
    Raises EvenhandError as `ask` raises it, with all rows that are settled in its `rows`, and ModelError if nothing
    at all is answered.
    """
    level = [batch]
    answered: list[pl.DataFrame] = []
    alone: list[pl.DataFrame] = []
    while level:
        halves: list[pl.DataFrame] = []
        for part in level:
            try:
                rows = ask(part)
            except EvenhandError as error:
                error.rows = _settled(batch, [*answered, *alone], error)
                raise
            # A backend is anybody's code: which exceptions it raises for a text cannot be known.
            except Exception as error:
                if part.height > 1:
                    middle = part.height // 2
                    halves += [part[:middle], part[middle:]]
                    continue
                alone.append(failed(part, _code(error, code), _message(error)))
                if not answered and len(alone) == HOPELESS:
                    raise ModelError(
                        f"{type(asked).__name__} failed for each of {HOPELESS} texts processed individually. Last "
                        f"error: {_message(error)}.",
                        "Nothing was stored for these texts. Fix the cause, then resume the run.",
                    ) from error
            else:
                answered.append(rows)
        level = halves
    return pl.concat(answered + alone)


def rows_before(
    error: EvenhandError,
    batch: pl.DataFrame,
    asked: object,
    rows: Callable[[pl.DataFrame, Any], pl.DataFrame],
) -> None:
    """Add to an error the rows of a batch that were finished before it, if the model reports them.

    Arguments: batch: as it was asked. asked: the model or classifier. rows: makes them of a part of the batch and of
    the answers to it.
    """
    before = error.before
    if before is not None and before.by is asked and before.places:
        part = batch[before.places]
        error.rows = part, rows(part, before.answers)


def refuse_other_kind(answer: object, kind: type[Any]) -> None:
    """Raise ModelError if what a model or classifier returned lacks a field of the kind that it must return."""
    lacking = [one.name for one in fields(kind) if not hasattr(answer, one.name)]
    if lacking:
        raise ModelError(
            f"A {type(answer).__name__} was returned, which has no {', '.join(lacking)}.",
            f"{kind.__name__} was expected ({kind.__module__}).",
        )


def _score(model: LanguageModel, requests: pl.DataFrame) -> Likelihoods:
    texts = requests["text"].to_list()
    n = len(texts)
    contexts = requests["context"].to_list() if requests["context"].null_count() < n else None
    spans = span_list(requests) if requests["span_start"].null_count() < n else None
    want_starts = bool(requests["keep_tokens"].any())
    kind = requests.row(0, named=True)
    return model.log_likelihoods(
        Texts(texts, contexts, spans, kind["masking"], want_starts, kind["start_token"])
    )


def _check_shape(n: int, likelihoods: Likelihoods) -> None:
    refuse_other_kind(likelihoods, Likelihoods)
    offsets, total = likelihoods.offsets, len(likelihoods.log_probs)
    rows_agree = len(likelihoods) == n == len(offsets) - 1 and len(likelihoods.details) in (0, n)
    tokens_agree = len(likelihoods.token_ids) == total and len(likelihoods.starts) in (0, total)
    if not (rows_agree and tokens_agree and offsets[0] == 0 and offsets[-1] == total):
        raise ModelError(
            f"The model returned {len(likelihoods)} rows for {n} texts, with {len(offsets)} offsets up to "
            f"{offsets[-1] if len(offsets) else None} for {total} tokens.",
            "Likelihoods require n errors, n + 1 offsets from 0 to the number of tokens, and arrays of that many "
            "tokens (evenhand.models.contract).",
        )


def _with_tokens(
    responses: pl.DataFrame, likelihoods: Likelihoods, row_of: NDArray[np.int64], kept: NDArray[np.bool_]
) -> pl.DataFrame:
    arrays = (likelihoods.token_ids, likelihoods.log_probs, likelihoods.starts)
    # A model without offsets gives no starts: that column then stays null.
    columns = {name: array for name, array in zip(TOKEN_COLUMNS, arrays, strict=True) if len(array)}
    tokens = pl.DataFrame({"row": row_of, **columns})
    lists = tokens.filter(kept[row_of]).group_by("row", maintain_order=True).all()
    numbered = responses.with_columns(row=pl.int_range(pl.len(), dtype=pl.Int64))
    return numbered.join(lists, on="row", how="left", maintain_order="left")


def _failed_rows(request: pl.DataFrame, code: str, message: str) -> pl.DataFrame:
    rows = request.select("request_id", sample=pl.int_ranges(0, "samples", dtype=pl.UInt16)).explode("sample")
    return as_responses(rows.with_columns(error=pl.lit(code), detail=pl.lit(message)))


def _check_generations(n: int, generations: Generations, decoding: Decoding) -> None:
    refuse_other_kind(generations, Generations)
    rows, samples, offsets = len(generations), decoding.samples, generations.offsets
    columns = (generations.prompt, generations.sample, generations.texts, generations.finish)
    agree = all(len(column) == rows for column in (*columns, generations.log_likelihood))
    agree = agree and len(generations.details) in (0, rows) and len(offsets) == rows + 1
    agree = agree and offsets[0] == 0 and offsets[-1] == len(generations.token_ids)
    if agree and rows == n * samples:
        outcomes = zip(generations.texts, generations.errors, strict=True)
        settled = all(text is not None or error is not None for text, error in outcomes)
        numbers = np.sort(generations.prompt.astype(np.int64) * samples + generations.sample)
        numbered = not rows or int(generations.sample.max()) < samples
        if settled and numbered and np.array_equal(numbers, np.arange(rows)):
            return
    raise ModelError(
        f"The model returned {rows} rows, which do not match {samples} samples for each of {n} prompts.",
        "Generations require one row for each prompt and sample, each with a text or an error, and offsets from 0 "
        "to the number of tokens (evenhand.models.contract).",
    )


def _settled(
    batch: pl.DataFrame, earlier: list[pl.DataFrame], error: EvenhandError
) -> tuple[pl.DataFrame, pl.DataFrame] | None:
    settled = [*earlier, *([error.rows[1]] if error.rows is not None else [])]
    if not settled:
        return None
    rows = pl.concat(settled)
    return batch.join(rows, on=rows.columns[0], how="semi", maintain_order="left"), rows


def _code(error: Exception, otherwise: ResponseError) -> str:
    # torch's error is known by its name: importing torch for a puppet would cost seconds.
    memory = isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"
    return str(ResponseError.OUT_OF_MEMORY if memory else otherwise)


def _message(error: Exception) -> str:
    return without_surrogates(f"{type(error).__name__}: {error}"[:500])
