"""Recipes: each ties prompts, a request and measures together, with a card; and suites of them."""

from evenhand.benchmarks.contract import (
    Analysis as Analysis,
    AnalysisOptions as AnalysisOptions,
    Benchmark as Benchmark,
    Suite as Suite,
)
from evenhand.benchmarks.registry import (
    SUITES as SUITES,
    benchmark_names as benchmark_names,
    load_benchmark as load_benchmark,
    load_suite as load_suite,
    suite_names as suite_names,
)
