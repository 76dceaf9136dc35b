"""Analyses of simulated data: the analysis of a benchmark, with its own rule for verdicts."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from evenhand.benchmarks import (
    AnalysisOptions,
    Benchmark,
    JudgedAnalysis,
    judge_responses,
    load_benchmark,
)
from evenhand.studies.calibration.designs.contract import Road, Sample


def benchmark_road(name: str, **options: Any) -> Road:
    """Return the analysis of a registered benchmark.

    The number of axes is that of the table, as for a user's own file.

    Parameters
    ----------
    options
        Fields of `AnalysisOptions`.
    """

    def road(sample: Sample, seed: int) -> JudgedAnalysis:
        return judge_responses(
            _load_without_axis_count(name), sample.frames[0], AnalysisOptions(seed=seed, **options)
        )

    return road


def likelihood_road(pairs: Sequence[tuple[str, str]], **options: Any) -> Road:
    """Return the shared analysis of likelihood benchmarks, with the given matched pairs of templates."""
    return _with_pairs("analyse_likelihoods", pairs, options)


def valence_road(pairs: Sequence[tuple[str, str]], **options: Any) -> Road:
    """Return the part of `likelihood_road` that gives verdicts: the same rows in a third of the time."""
    return _with_pairs("analyse_valence", pairs, options)


def _with_pairs(analysis: str, pairs: Sequence[tuple[str, str]], options: dict[str, Any]) -> Road:
    def road(sample: Sample, seed: int) -> JudgedAnalysis:
        from evenhand.benchmarks import analysis as analyses

        analyse = partial(getattr(analyses, analysis), valence_pairs=tuple(pairs))
        benchmark = replace(_load_without_axis_count("evenhand-likelihood"), analyse=analyse)
        return judge_responses(benchmark, sample.frames[0], AnalysisOptions(seed=seed, **options))

    return road


def _load_without_axis_count(name: str) -> Benchmark:
    return replace(load_benchmark(name), n_axes=None)
