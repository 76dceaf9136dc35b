"""The answers of a benchmark: each prompt beside what the model said to it."""

import polars as pl

from evenhand.runs.answering import TOKEN_COLUMNS
from evenhand.runs.directory import RunDirectory
from evenhand.runs.shards import read_shards
from evenhand.schema import ResponseError

VALUES = ["log_likelihood", "token_count", "error", "detail"]


def answers(directory: RunDirectory, benchmark: str) -> pl.DataFrame:
    """A benchmark's prompts joined with their responses, one row for each prompt, in prompt order.

    Arguments: directory: of a run, complete or not. benchmark: one of `directory.benchmarks`.
    Returns: see `join_answers`. Raises DataError if the prompts or a part of the responses cannot be read.
    """
    record = directory.manifest.prompt_sets.get(benchmark)
    keep_tokens = record is not None and record.keep_tokens
    wanted = [*VALUES, *TOKEN_COLUMNS] if keep_tokens else VALUES
    responses = read_shards(directory.responses_folder, wanted)
    return join_answers(directory.prompts(benchmark), responses, keep_tokens=keep_tokens)


def join_answers(
    prompts: pl.DataFrame, responses: pl.DataFrame, *, keep_tokens: bool = False
) -> pl.DataFrame:
    """Prompts beside their responses, by `request_id`.

    Arguments: prompts: a planned prompt table. responses: a RESPONSES frame, one row a request.
    keep_tokens: also give the token columns.
    Returns: the prompts' columns and `log_likelihood` (nats), `token_count`, `perplexity`
    (exp(-log_likelihood / token_count); null where there is an error), `error` (`missing` where there
    is no row), `detail`.

    >>> prompts = pl.DataFrame({"prompt_id": ["a", "b"], "request_id": ["1", "2"]})
    >>> row = {"request_id": "1", "log_likelihood": 0.0, "token_count": 2, "error": None, "detail": None}
    >>> join_answers(prompts, pl.DataFrame([row])).select("prompt_id", "perplexity", "error").rows()
    [('a', 1.0, None), ('b', None, 'missing')]
    """
    tokens = TOKEN_COLUMNS if keep_tokens else ()
    found = responses.select("request_id", *VALUES, *tokens, pl.lit(True).alias("found"))
    joined = prompts.join(found, on="request_id", how="left", maintain_order="left")
    error = (
        pl.when(pl.col("found").is_null()).then(pl.lit(str(ResponseError.MISSING))).otherwise(pl.col("error"))
    )
    perplexity = (-pl.col("log_likelihood") / pl.col("token_count")).exp()
    return (
        joined.with_columns(error.cast(pl.String).alias("error"))
        .with_columns(pl.when(pl.col("error").is_null()).then(perplexity).alias("perplexity"))
        .drop("found", "request_id")
        .select(
            *[name for name in prompts.columns if name != "request_id"],
            "log_likelihood",
            "token_count",
            "perplexity",
            "error",
            "detail",
            *tokens,
        )
    )
