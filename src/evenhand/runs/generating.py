"""What a model wrote, as response rows: one for each sample of each request."""

import numpy as np
import polars as pl

from evenhand.models.contract import Generations
from evenhand.models.decoding import Decoding
from evenhand.schema import RESPONSES, ModelError


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
    found = pl.DataFrame(
        {
            "request_id": requests["request_id"].gather(generations.prompt),
            "place": generations.prompt,
            "sample": generations.sample,
            "text": pl.Series(generations.texts, dtype=pl.String),
            "log_likelihood": pl.Series(generations.log_likelihood, dtype=pl.Float64),
            "token_count": generations.token_count,
            "finish": pl.Series(generations.finish, dtype=pl.String),
            "error": pl.Series(generations.errors, dtype=pl.String),
            "detail": pl.Series(generations.details or [None] * len(generations), dtype=pl.String),
        }
    ).sort("place", "sample")
    listed = (pl.col("token_count") > 0) | (pl.col("text") == "")
    known = pl.col("log_likelihood").is_finite() & listed
    return as_responses(
        found.with_columns(
            log_likelihood=pl.when(good & known).then("log_likelihood"),
            token_count=pl.when(good & listed).then("token_count"),
            text=pl.when(good).then("text"),
            finish=pl.when(good).then("finish"),
        )
    )


def as_responses(found: pl.DataFrame) -> pl.DataFrame:
    """A RESPONSES frame of whatever of its columns are there; sample 0 unless said, the rest null."""
    return found.select(
        pl.col(name).cast(kind)
        if name in found.columns
        else pl.lit(0 if name == "sample" else None, dtype=kind).alias(name)
        for name, kind in RESPONSES.items()
    )


def _check_generations(n: int, generations: Generations, decoding: Decoding) -> None:
    rows, samples, offsets = len(generations), decoding.samples, generations.offsets
    columns = (generations.prompt, generations.sample, generations.texts, generations.finish)
    agree = all(len(column) == rows for column in (*columns, generations.log_likelihood))
    agree = agree and len(generations.details) in (0, rows) and len(offsets) == rows + 1
    agree = agree and offsets[0] == 0 and offsets[-1] == len(generations.token_ids)
    if agree and rows == n * samples:
        rows_said = zip(generations.texts, generations.errors, strict=True)
        said = all(text is not None or error is not None for text, error in rows_said)
        numbers = np.sort(generations.prompt.astype(np.int64) * samples + generations.sample)
        numbered = not rows or int(generations.sample.max()) < samples
        if said and numbered and np.array_equal(numbers, np.arange(rows)):
            return
    raise ModelError(
        f"The model was asked for {samples} continuations of {n} texts and gave {rows} rows that are not those.",
        "Generations need one row for each prompt and sample, each with a text or an error, and offsets from 0 to "
        "the number of tokens (evenhand.models.contract).",
    )
