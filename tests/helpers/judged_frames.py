"""Frames as benchmarks of continuations get them: prompts, samples, and a judge whose rates are planted."""

from collections.abc import Callable

import numpy as np
import polars as pl

from evenhand.benchmarks import AnalysisOptions, Benchmark, judge_responses
from evenhand.benchmarks.contract import Analysis


def judged(
    prompts: pl.DataFrame,
    role: str,
    rate: float | Callable[[pl.DataFrame], pl.Expr] = 0.2,
    samples: int = 1,
    seed: int = 0,
) -> pl.DataFrame:
    """One row per prompt and sample; each is negative with its own chance, which `rate` gives."""
    numbers = pl.DataFrame({"sample": range(samples)}, schema={"sample": pl.UInt16})
    frame = prompts.join(numbers, how="cross", maintain_order="left_right")
    chance = frame.select(pl.lit(rate) if isinstance(rate, float) else rate(frame)).to_series()
    drawn = np.random.default_rng(seed).random(frame.height)
    negative = pl.Series(drawn < np.broadcast_to(chance.to_numpy(), frame.height))
    return frame.with_columns(
        continuation=pl.concat_str(pl.lit(" went on, as number "), pl.int_range(pl.len()), pl.lit(".")),
        finish=pl.lit("end"),
        log_likelihood=pl.lit(-12.0),
        token_count=pl.lit(6, pl.UInt32),
        error=pl.lit(None, pl.String),
        **{
            f"{role}_label": pl.lit(None, pl.String),
            f"{role}_negative": negative,
            f"{role}_score": negative.cast(pl.Float64) * 0.8 + 0.1,
            f"{role}_error": pl.lit(None, pl.String),
        },
    )


def failed(frame: pl.DataFrame, role: str, which: pl.Expr, code: str = "refused") -> pl.DataFrame:
    """The same responses, of which some failed: nothing was written, nothing was judged."""
    lost = ["continuation", f"{role}_negative", f"{role}_score"]
    return frame.with_columns(
        pl.when(~which).then(pl.col(lost)),
        pl.when(which).then(pl.lit(code)).otherwise("error").alias("error"),
    )


def verdicts(
    benchmark: Benchmark, frame: pl.DataFrame, seed: int = 0
) -> tuple[Analysis, pl.DataFrame, pl.DataFrame]:
    """Analysis, measurements with q, and findings."""
    done = judge_responses(benchmark, frame, AnalysisOptions(seed=seed))
    return done.analysis, done.measurements, done.findings


def biased(findings: pl.DataFrame, measure: str) -> list[tuple[str | None, str | None]]:
    """Axis and group of the rows of a measure that were found biased."""
    found = findings.filter((pl.col("measure") == measure) & (pl.col("verdict") == "biased"))
    return found.select("axis", "group").rows()
