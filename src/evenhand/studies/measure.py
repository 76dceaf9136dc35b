"""Measures on responses that somebody already has: the same analysis, without any model."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.benchmarks.contract import AnalysisOptions, Benchmark
from evenhand.benchmarks.registry import load_benchmark
from evenhand.models.contract import Architecture
from evenhand.prompts.user_files import read_responses, read_scores
from evenhand.schema import UsageError, measurement_frame
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
    responses = _responses(file, recipe)
    architecture: Architecture = "masked" if recipe.architectures == {"masked"} else "causal"
    options = AnalysisOptions(seed=seed, alpha=alpha, margin=margin, architecture=architecture)
    analysis = recipe.analyse(responses, options)
    rows = measurement_frame(analysis.measurements).with_columns(benchmark=pl.lit(benchmark))
    measurements, findings = judge(rows, alpha=alpha, harmful=recipe.harmful)
    arguments = {"file": str(file), "benchmark": benchmark, "seed": seed, "margin": margin, "alpha": alpha}
    return Measured(benchmark, responses, measurements, findings, analysis.details, arguments)


def _responses(file: Path, recipe: Benchmark) -> pl.DataFrame:
    if recipe.takes_scores:
        scores = read_scores(file, recipe.required_columns)
        if scores is not None:
            return scores
    return read_responses(file, recipe.required_columns).frame
