"""Turn responses into verdicts and headlines; audits, users' own files and the calibration all use this module."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace

import polars as pl

from evenhand.benchmarks.contract import Analysis, AnalysisOptions, Benchmark, Headline
from evenhand.measures import check_measures
from evenhand.schema import HEADLINES, Measurement, measurement_frame
from evenhand.stats import reach_verdicts


@dataclass(frozen=True)
class JudgedAnalysis:
    """An analysis with its verdicts.

    Attributes
    ----------
    measurements, findings, headlines : polars.DataFrame
        Tables MEASUREMENTS (q filled in), FINDINGS and HEADLINES of `evenhand.schema`.
    analysis : Analysis
        What the benchmark returned, including its detail tables.
    """

    measurements: pl.DataFrame
    findings: pl.DataFrame
    headlines: pl.DataFrame
    analysis: Analysis = field(default_factory=lambda: Analysis([]))

    @property
    def details(self) -> Mapping[str, pl.DataFrame]:
        """Return the detail tables by name."""
        return self.analysis.details


def judge_responses(benchmark: Benchmark, frame: pl.DataFrame, options: AnalysisOptions) -> JudgedAnalysis:
    """Analyse responses with a benchmark and give every test its verdict.

    Parameters
    ----------
    benchmark : Benchmark
        The benchmark.
    frame : polars.DataFrame
        Responses, as in `Benchmark.analyse`.
    options : AnalysisOptions
        Options. Their n_axes is set here, from the benchmark and the table.

    Returns
    -------
    JudgedAnalysis
        Measurements, findings and headlines.

    Raises
    ------
    ExtensionError
        A measure has no card. The analysis may raise other errors.
    """
    n_axes = benchmark.axes_of(frame)
    analysis = benchmark.analyse(frame, replace(options, n_axes=n_axes))
    check_measures([row.measure for row in analysis.measurements], f"The benchmark {benchmark.name!r}")
    measurements, findings = judged_rows(
        benchmark.name, analysis.measurements, options.alpha, benchmark, n_axes=n_axes
    )
    sentences = [] if benchmark.headlines is None else benchmark.headlines(findings, analysis.details)
    return JudgedAnalysis(measurements, findings, headline_frame(benchmark.name, sentences), analysis)


def judged_rows(
    name: str,
    rows: list[Measurement],
    alpha: float,
    benchmark: Benchmark | None = None,
    *,
    n_axes: int = 1,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return measurements and findings of the rows of a benchmark or suite."""
    table = measurement_frame(rows).with_columns(benchmark=pl.lit(name))
    harmful = benchmark.harmful if benchmark is not None else None
    return reach_verdicts(table, alpha, n_axes=n_axes, harmful=harmful)


def headline_frame(benchmark: str, headlines: list[Headline]) -> pl.DataFrame:
    """Return the table HEADLINES of one benchmark."""
    return pl.DataFrame([{"benchmark": benchmark} | asdict(line) for line in headlines], schema=HEADLINES)
