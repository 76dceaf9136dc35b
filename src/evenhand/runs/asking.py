"""Send a batch of requests to a model, and return responses or errors as rows.

A batch that fails is halved repeatedly until the texts that cause the failure are single error rows. Classifiers are
called in the same way (`runs/labelling.py`).
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
from evenhand.runs.requests import TOKEN_COLUMNS, parse_decoding
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
"""Error codes that a retry may remove; all others are due to the text."""
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
        decoding, writer = parse_decoding(stored), text_generator(model)

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
    """Return likelihoods as a table of responses, without a loop over rows.

    Sums are computed per row, so that a value does not depend on other rows, and a token that is not finite affects
    only its own row.

    requests: n rows of `Plan.requests`. likelihoods: of the same n texts. Returns a table RESPONSES with n rows; it has
    lists of tokens only if the request keeps them. Raises ModelError if the result does not have the required shape.
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
    """Return continuations as a table of responses.

    An empty continuation is a valid row with text "". An unknown likelihood is null. So is the number of tokens if a
    backend lists none for a text that is not empty.

    requests: n rows of `Plan.requests`. generations: of the same n texts. decoding: as requested. Returns a table
    RESPONSES with n × decoding.samples rows, with the samples of a request next to each other. Raises ModelError if the
    result does not have the required shape.
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
    """Return texts as a column; a lone surrogate, which no table can store, becomes U+FFFD."""
    return pl.Series([without_surrogates(text) for text in texts], dtype=pl.String)


def as_responses(rows: pl.DataFrame) -> pl.DataFrame:
    """Return a table RESPONSES from the columns that the rows have; sample is 0 by default, and other
    columns are null.
    """
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
    """Return the rows that `ask` makes of a batch, with error rows for texts on which it fails even alone.

    batch: at least one text. ask: function that returns the rows of any part of it. failed: function that makes the
    error row of a batch of one text, given a code and a message. asked: the model or classifier, for messages. code:
    code of failures other than memory.

    Returns all rows; their order differs if the batch failed. Raises EvenhandError as `ask` does, with all finished
    rows in its `rows`, and ModelError if no text gets a response.
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
                error.rows = _collect_answered(batch, [*answered, *alone], error)
                raise
            # a backend may be external code, which can raise any exception for a text
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
    """Add the rows of a batch that were finished before an error to it, if the model reports them.

    batch: the complete batch. asked: the model or classifier. rows: function of a part of the batch and its results
    that returns rows.
    """
    before = error.before
    if before is not None and before.by is asked and before.places:
        part = batch[before.places]
        error.rows = part, rows(part, before.answers)


def refuse_other_kind(answer: object, kind: type[Any]) -> None:
    """Raise ModelError if the result of a model or classifier lacks a field of the required type."""
    lacking = [one.name for one in fields(kind) if not hasattr(answer, one.name)]
    if lacking:
        raise ModelError(
            f"The model or classifier returned an object of type {type(answer).__name__}, which has no "
            f"{', '.join(lacking)}.",
            f"It must return {kind.__module__}.{kind.__name__}.",
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
    # a model without offsets gives no starts, so the column stays null
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


def _collect_answered(
    batch: pl.DataFrame, earlier: list[pl.DataFrame], error: EvenhandError
) -> tuple[pl.DataFrame, pl.DataFrame] | None:
    settled = [*earlier, *([error.rows[1]] if error.rows is not None else [])]
    if not settled:
        return None
    rows = pl.concat(settled)
    return batch.join(rows, on=rows.columns[0], how="semi", maintain_order="left"), rows


def _code(error: Exception, otherwise: ResponseError) -> str:
    # torch's error is recognised by name, because importing torch for a scripted model would take seconds
    memory = isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"
    return str(ResponseError.OUT_OF_MEMORY if memory else otherwise)


def _message(error: Exception) -> str:
    return without_surrogates(f"{type(error).__name__}: {error}"[:500])
