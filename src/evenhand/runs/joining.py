"""The answers of a benchmark: each prompt beside what the model said to it."""

from collections.abc import Sequence

import polars as pl

from evenhand.runs.asking import TOKEN_COLUMNS
from evenhand.runs.continuation_rows import continuations
from evenhand.runs.directory import RunDirectory
from evenhand.runs.labels import needed_columns, with_judgements
from evenhand.runs.shards import read_shards
from evenhand.schema import ResponseError

VALUES = ["log_likelihood", "token_count", "error", "detail"]


def answers(directory: RunDirectory, benchmark: str, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """A benchmark's prompts joined with their responses, in prompt order.

    One row for each prompt; of continuations one for each prompt and sample, beside the judgements that count.

    Arguments: directory: of a run, complete or not. benchmark: one of `directory.benchmarks`. columns: of the
    prompts, those wanted (names that are not there are left out); all by default.
    Returns: see `join_answers`, and for continuations `join_continuations` and `with_judgements`.
    Raises DataError if the prompts, a part of the responses or one of the labels cannot be read.
    """
    asked = directory.manifest.asked.get(benchmark)
    if asked is not None and asked.decoding is not None:
        return _judged_continuations(directory, benchmark, columns)
    keep_tokens = asked is not None and asked.keep_tokens
    wanted = [*VALUES, *TOKEN_COLUMNS] if keep_tokens else VALUES
    responses = read_shards(directory.responses_folder, wanted)
    return join_answers(directory.prompts(benchmark, columns), responses, keep_tokens=keep_tokens)


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
    >>> row = {"request_id": "1", "sample": 0, "log_likelihood": 0.0, "token_count": 2}
    >>> responses = pl.DataFrame([row | {"error": None, "detail": None}])
    >>> join_answers(prompts, responses).select("prompt_id", "perplexity", "error").rows()
    [('a', 1.0, None), ('b', None, 'missing')]
    """
    answer_columns = [*VALUES, *TOKEN_COLUMNS] if keep_tokens else VALUES
    joined = prompts.join(
        responses.select("request_id", "sample", *answer_columns),
        on="request_id",
        how="left",
        maintain_order="left",
    )
    missing = pl.col("sample").is_null()
    error = (
        pl.when(missing).then(pl.lit(str(ResponseError.MISSING))).otherwise(pl.col("error").cast(pl.String))
    )
    perplexity = (-pl.col("log_likelihood") / pl.col("token_count")).exp()
    own = [name for name in prompts.columns if name != "request_id"]
    return joined.with_columns(
        error=error, perplexity=pl.when(pl.col("error").is_null() & ~missing).then(perplexity)
    ).select(*own, "log_likelihood", "token_count", "perplexity", *answer_columns[2:])


def _judged_continuations(
    directory: RunDirectory, benchmark: str, columns: Sequence[str] | None
) -> pl.DataFrame:
    needed = needed_columns(directory, benchmark)
    wanted = None if columns is None else list(dict.fromkeys([*columns, *needed]))
    frame = with_judgements(directory, benchmark, continuations(directory, benchmark, wanted))
    return frame if columns is None else frame.drop(name for name in needed if name not in columns)
