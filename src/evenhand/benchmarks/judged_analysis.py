"""From responses to verdicts and headlines: the one road that audits, users' own files and the calibration take."""

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

    measurements, findings, headlines: tables MEASUREMENTS (q filled in), FINDINGS and HEADLINES of `evenhand.schema`.
    analysis: what the benchmark itself returned, its detail tables among it.
    """

    measurements: pl.DataFrame
    findings: pl.DataFrame
    headlines: pl.DataFrame
    analysis: Analysis = field(default_factory=lambda: Analysis([]))

    @property
    def details(self) -> Mapping[str, pl.DataFrame]:
        """Detail tables by name."""
        return self.analysis.details


def judge_responses(benchmark: Benchmark, frame: pl.DataFrame, options: AnalysisOptions) -> JudgedAnalysis:
    """Analyse responses as `benchmark` does and give every test its verdict.

    frame: as `Benchmark.analyse` takes it. options: their n_axes is set here, from what the benchmark defines and the
    table holds. Raises ExtensionError for a measure without a card, and what the analysis raises.
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
    """Measurements and findings of the rows of a benchmark or suite called `name`."""
    table = measurement_frame(rows).with_columns(benchmark=pl.lit(name))
    harmful = benchmark.harmful if benchmark is not None else None
    return reach_verdicts(table, alpha, n_axes=n_axes, harmful=harmful)


def headline_frame(benchmark: str, headlines: list[Headline]) -> pl.DataFrame:
    """The table HEADLINES of one benchmark."""
    return pl.DataFrame([{"benchmark": benchmark} | asdict(line) for line in headlines], schema=HEADLINES)
