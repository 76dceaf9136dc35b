"""The roads: a benchmark's own analysis with its own rule of verdicts, on simulated data."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import polars as pl

from evenhand.benchmarks import (
    Analysis,
    AnalysisOptions,
    Benchmark,
    JudgedAnalysis,
    judge_responses,
    load_benchmark,
)
from evenhand.studies.calibration.designs.contract import Road, Sample


def benchmark_road(name: str, **options: Any) -> Road:
    """The road of a registered benchmark; axes are those of the table, as in a user's own file.

    options: of `AnalysisOptions`.
    """

    def road(sample: Sample, seed: int) -> JudgedAnalysis:
        return judge_responses(_of(name), sample.frames[0], AnalysisOptions(seed=seed, **options))

    return road


def likelihood_road(pairs: Sequence[tuple[str, str]], **options: Any) -> Road:
    """The shared analysis of likelihood benchmarks, with so many matched pairs of templates."""

    def road(sample: Sample, seed: int) -> JudgedAnalysis:
        from evenhand.benchmarks.analysis import analyse_likelihoods

        benchmark = replace(
            _of("evenhand-likelihood"), analyse=partial(analyse_likelihoods, valence_pairs=tuple(pairs))
        )
        return judge_responses(benchmark, sample.frames[0], AnalysisOptions(seed=seed, **options))

    return road


def valence_road(pairs: Sequence[tuple[str, str]], **options: Any) -> Road:
    """The part of `likelihood_road` that ends in verdicts: a third of its time, the same rows (a test holds them
    together)."""

    def analyse(frame: pl.DataFrame, chosen: AnalysisOptions) -> Analysis:
        from evenhand.benchmarks.analysis import valence_rows
        from evenhand.measures import valence_shift

        positive, negative = zip(*pairs, strict=True)
        shift = valence_shift(
            frame,
            positive=positive,
            negative=negative,
            margin=chosen.valence_margin,
            alpha=chosen.alpha,
            n_axes=chosen.n_axes,
            seed=chosen.seed,
        )
        return Analysis(valence_rows(shift, chosen.valence_margin))

    def road(sample: Sample, seed: int) -> JudgedAnalysis:
        benchmark = replace(_of("evenhand-likelihood"), analyse=analyse, headlines=None)
        return judge_responses(benchmark, sample.frames[0], AnalysisOptions(seed=seed, **options))

    return road


def _of(name: str) -> Benchmark:
    return replace(load_benchmark(name), n_axes=None)
