"""Measures on responses that somebody already has: the same analysis, without any model."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.benchmarks.contract import AnalysisOptions
from evenhand.benchmarks.registry import load_benchmark
from evenhand.prompts.user_files import read_responses
from evenhand.schema import DataError, ResponseError, UsageError, measurement_frame
from evenhand.stats import judge


@dataclass(frozen=True)
class Measured:
    """The numbers of one file of responses."""

    benchmark: str
    responses: pl.DataFrame
    measurements: pl.DataFrame
    findings: pl.DataFrame
    details: Mapping[str, pl.DataFrame]
    arguments: Mapping[str, Any]


def measure_responses(
    file: Path, benchmark: str, *, seed: int = 0, margin: float = 0.05, alpha: float = 0.05
) -> Measured:
    """Measure a file of responses as `benchmark` would measure a model's.

    Raises DataError if the file lacks a column, UsageError for an unknown benchmark or a wrong level.
    """
    if not 0 < alpha < 1 or margin < 0:
        raise UsageError(
            f"alpha={alpha}, margin={margin}: alpha lies between 0 and 1, the margin is zero or more."
        )
    recipe = load_benchmark(benchmark)
    responses = with_likelihoods(read_responses(file, recipe.required_columns), file)
    analysis = recipe.analyse(responses, AnalysisOptions(seed=seed, alpha=alpha, margin=margin))
    rows = measurement_frame(analysis.measurements).with_columns(benchmark=pl.lit(benchmark))
    measurements, findings = judge(rows, alpha=alpha)
    arguments = {"file": str(file), "benchmark": benchmark, "seed": seed, "margin": margin, "alpha": alpha}
    return Measured(benchmark, responses, measurements, findings, analysis.details, arguments)


def with_likelihoods(responses: pl.DataFrame, file: Path) -> pl.DataFrame:
    """Complete `perplexity`, `log_likelihood`, `token_count` and `error` from what the file has.

    A value that is absent, NaN, infinite or impossible (perplexity below 1, positive log-likelihood) makes an
    error row. Raises DataError if neither perplexity nor log_likelihood with token_count is there.
    """
    columns = set(responses.columns)
    if not ("perplexity" in columns or {"log_likelihood", "token_count"} <= columns or "score" in columns):
        raise DataError(
            f"{file} has no likelihoods: neither `perplexity`, nor `log_likelihood` with `token_count`.",
            f"It has: {', '.join(responses.columns)}. Rename the column that holds them.",
        )
    number = {name: pl.col(name).cast(pl.Float64) for name in ("perplexity", "log_likelihood") if name in columns}
    counted = "token_count" in columns
    if "log_likelihood" not in columns:
        number["log_likelihood"] = (
            -number["perplexity"].log() * pl.col("token_count") if counted and "perplexity" in columns else pl.lit(None)
        )
    if "perplexity" not in columns:
        number["perplexity"] = (
            (-number["log_likelihood"] / pl.col("token_count")).exp() if counted else pl.lit(None)
        )
    judged = "perplexity" if "perplexity" in columns or counted else "score"
    frame = responses.with_columns(
        **{name: value.cast(pl.Float64) for name, value in number.items()},
        token_count=pl.col("token_count").cast(pl.UInt32) if counted else pl.lit(None, dtype=pl.UInt32),
    )
    value = pl.col(judged)
    impossible = (value < 1) if judged == "perplexity" else pl.lit(False)
    code = (
        pl.when(value.is_null())
        .then(pl.lit(str(ResponseError.MISSING)))
        .when(~value.is_finite() | impossible)
        .then(pl.lit(str(ResponseError.NOT_FINITE)))
    )
    earlier = pl.col("error").cast(pl.String) if "error" in columns else pl.lit(None, dtype=pl.String)
    frame = frame.with_columns(error=pl.coalesce(earlier, code))
    good = pl.col("error").is_null()
    return frame.with_columns(
        pl.when(good).then(pl.col(name)).alias(name) for name in ("perplexity", "log_likelihood")
    )
