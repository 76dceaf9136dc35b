"""Compute verdicts and headlines from responses, for audits, for users' own files and for calibration studies."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace

import polars as pl

from evenhand.benchmarks.contract import Analysis, AnalysisOptions, Benchmark, Headline
from evenhand.measures import check_measures
from evenhand.schema import HEADLINES, Measurement, measurement_frame
from evenhand.stats import reach_verdicts


@dataclass(frozen=True)
class JudgedAnalysis:
    """An analysis of a benchmark with a verdict for every test; the result of `judge_responses`.

    Attributes
    ----------
    measurements, findings, headlines : polars.DataFrame
        Numbers, verdicts and sentences: the tables MEASUREMENTS (with q), FINDINGS and HEADLINES of
        `evenhand.schema`.
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
    """Analyse responses with a benchmark and give every test a verdict.

    Use it if you already have a table of responses in the form of the benchmark. For a file in your own form,
    use `evenhand.measure`.

    Parameters
    ----------
    benchmark : Benchmark
        The benchmark.
    frame : polars.DataFrame
        The responses, as described at `Benchmark.analyse`.
    options : AnalysisOptions
        Options. `n_axes` is replaced: it is set from the benchmark and the table.

    Returns
    -------
    JudgedAnalysis
        Measurements, findings and headlines.

    Raises
    ------
    ExtensionError
        A measure has no card.
    EvenhandError
        The analysis of the benchmark may raise other errors.
    """
    n_axes = benchmark.count_axes(frame)
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
    """Give a verdict to every test of a benchmark or a suite.

    Use it for measurements that you computed yourself; `judge_responses` calls it for those of a benchmark.

    Parameters
    ----------
    name : str
        Name of the benchmark or suite.
    rows : list of Measurement
        The measurements.
    alpha : float
        Significance level.
    benchmark : Benchmark, optional
        Benchmark that states which side of a null value is harmful. Default: either side.
    n_axes : int, default 1
        Number of axes of the benchmark. Each axis is tested at alpha / n_axes.

    Returns
    -------
    measurements : polars.DataFrame
        The table MEASUREMENTS of `evenhand.schema`, with q filled in.
    findings : polars.DataFrame
        The table FINDINGS of `evenhand.schema`, with the verdicts.
    """
    table = measurement_frame(rows).with_columns(benchmark=pl.lit(name))
    harmful = benchmark.harmful if benchmark is not None else None
    return reach_verdicts(table, alpha, n_axes=n_axes, harmful=harmful)


def headline_frame(benchmark: str, headlines: list[Headline]) -> pl.DataFrame:
    """Return the headlines of one benchmark as a table.

    Parameters
    ----------
    benchmark : str
        Name of the benchmark.
    headlines : list of Headline
        Its headlines.

    Returns
    -------
    polars.DataFrame
        The table HEADLINES of `evenhand.schema`, with one row per headline.

    Examples
    --------
    >>> line = Headline("regard_gap", "age", "not detected", "Age — no bias detected.")
    >>> headline_frame("regard", [line])["verdict"].to_list()
    ['not detected']
    """
    return pl.DataFrame([{"benchmark": benchmark} | asdict(line) for line in headlines], schema=HEADLINES)
