"""The continuations of a benchmark: each prompt and sample beside what the model wrote."""

from collections.abc import Sequence

import polars as pl

from evenhand.runs.directory import RunDirectory
from evenhand.runs.shards import read_shards
from evenhand.schema import DataError, ResponseError

WRITTEN = ["sample", "continuation", "finish", "log_likelihood", "token_count", "error", "detail"]
"""What stands behind the prompt's own columns."""
WRITTEN_SUFFIX = " written"  # no prompt column is called that
STORED = ["text", "finish", "log_likelihood", "token_count", "error", "detail"]


def continuations(
    directory: RunDirectory,
    benchmark: str,
    columns: Sequence[str] | None = None,
    *,
    responses: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """A benchmark's prompts joined with their continuations.

    Arguments: directory: of a run, complete or not. benchmark: one that asks for continuations. columns: of the
    prompts, those wanted; all by default. responses: of the run, if they have been read already.
    Returns: see `join_continuations`. Raises DataError if the benchmark was not asked for continuations, or its
    prompts or a part of the responses cannot be read.
    """
    asked = directory.manifest.asked.get(benchmark)
    if asked is None or asked.decoding is None:
        raise DataError(
            f"The run {directory.path} has no continuations of {benchmark!r}.",
            f"Benchmarks with continuations: {', '.join(written_benchmarks(directory)) or 'none'}.",
        )
    if responses is None:
        responses = read_shards(directory.responses_folder, STORED)
    return join_continuations(
        directory.prompts(benchmark, columns), responses, int(asked.decoding["samples"])
    )


def written_benchmarks(directory: RunDirectory) -> list[str]:
    """The benchmarks of a run that ask for continuations, by name."""
    return sorted(name for name, asked in directory.manifest.asked.items() if asked.decoding is not None)


def join_continuations(prompts: pl.DataFrame, responses: pl.DataFrame, samples: int = 1) -> pl.DataFrame:
    """Prompts beside their continuations, one row for each prompt and sample, in prompt order.

    Arguments: prompts: a planned prompt table. responses: a RESPONSES frame. samples: continuations a prompt should
    have.
    Returns: the prompts' columns and `sample`, `continuation` (null where it failed), `finish`, `log_likelihood`
    (nats), `token_count`, `error` (`missing` where there is no row), `detail`.

    >>> prompts = pl.DataFrame({"prompt_id": ["a", "b"], "text": ["She", "He"], "request_id": ["1", "2"]})
    >>> row = {"request_id": "1", "sample": 0, "text": " cooks.", "log_likelihood": -3.0, "token_count": 2}
    >>> responses = pl.DataFrame([row | {"finish": "end", "error": None, "detail": None}])
    >>> join_continuations(prompts, responses).select("text", "continuation", "error").rows()
    [('She', ' cooks.', None), ('He', None, 'missing')]
    """
    numbers = pl.DataFrame({"sample": range(samples)}, schema={"sample": pl.UInt16})
    written = responses.select("request_id", pl.col("sample").cast(pl.UInt16), *STORED)
    joined = prompts.join(numbers, how="cross", maintain_order="left_right").join(
        written.rename({"text": "continuation"}),
        on=["request_id", "sample"],
        how="left",
        coalesce=False,  # the response's own key tells whether there is one
        suffix=WRITTEN_SUFFIX,
        maintain_order="left",
    )
    missing = pl.when(pl.col(f"request_id{WRITTEN_SUFFIX}").is_null()).then(
        pl.lit(str(ResponseError.MISSING))
    )
    own = [name for name in prompts.columns if name != "request_id"]
    return joined.with_columns(error=missing.otherwise(pl.col("error").cast(pl.String))).select(
        *own, *WRITTEN
    )
