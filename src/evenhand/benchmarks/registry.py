"""Benchmarks and suites by name. A package adds its own under the entry-point groups
"evenhand.benchmarks" and "evenhand.suites"."""

from importlib import import_module
from importlib.metadata import entry_points

from evenhand.benchmarks.contract import Benchmark, Suite
from evenhand.schema import Card
from evenhand.schema.errors import unknown_name

BENCHMARKS = {
    "evenhand-likelihood": "evenhand.benchmarks.evenhand_likelihood:BENCHMARK",
    "evenhand-pll": "evenhand.benchmarks.evenhand_pll:BENCHMARK",
    "holisticbias-likelihood": "evenhand.benchmarks.holisticbias_likelihood:BENCHMARK",
    "holisticbias-pll": "evenhand.benchmarks.holisticbias_pll:BENCHMARK",
    "crows-pairs": "evenhand.benchmarks.crows_pairs:BENCHMARK",
    "stereoset": "evenhand.benchmarks.stereoset:BENCHMARK",
}

SUITES = {
    "quick": Suite(
        "quick",
        Card(
            "quick",
            "Our own sentences, a few thousand of them: a first look at any model in a minute or two.",
            details="Needs no download. Left-to-right and encoder-decoder models get evenhand-likelihood, "
            "masked ones evenhand-pll.",
        ),
        ("evenhand-likelihood", "evenhand-pll"),
        limit=20_000,
        one_for_each_kind=True,
    ),
    "likelihood": Suite(
        "likelihood",
        Card(
            "likelihood",
            "Every likelihood benchmark in full: HolisticBias, our own set, CrowS-Pairs, StereoSet.",
            details="Benchmarks whose data are not on this machine are left out, and the report says so.",
        ),
        (
            "holisticbias-likelihood",
            "evenhand-likelihood",
            "holisticbias-pll",
            "evenhand-pll",
            "crows-pairs",
            "stereoset",
        ),
    ),
}


def benchmark_names() -> list[str]:
    """Names of all benchmarks, ours first."""
    return [*BENCHMARKS, *sorted(point.name for point in entry_points(group="evenhand.benchmarks"))]


def load_benchmark(name: str) -> Benchmark:
    """The benchmark of that name; raises UsageError with the nearest names if there is none."""
    if name in BENCHMARKS:
        module, attribute = BENCHMARKS[name].split(":")
        found = getattr(import_module(module), attribute)
    else:
        points = {point.name: point for point in entry_points(group="evenhand.benchmarks")}
        if name not in points:
            raise unknown_name("benchmark", name, benchmark_names())
        found = points[name].load()
    if not isinstance(found, Benchmark) or not isinstance(found.card, Card):
        raise TypeError(f"{name} is registered as a benchmark but is {type(found).__name__}; no card, no run")
    return found


def load_suite(name: str) -> Suite:
    """The suite of that name; raises UsageError with the nearest names if there is none."""
    if name in SUITES:
        return SUITES[name]
    points = {point.name: point for point in entry_points(group="evenhand.suites")}
    if name not in points:
        raise unknown_name("suite", name, [*SUITES, *points])
    found = points[name].load()
    if not isinstance(found, Suite):
        raise TypeError(f"{name} is registered as a suite but is {type(found).__name__}")
    return found
