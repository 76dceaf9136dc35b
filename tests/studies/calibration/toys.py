"""Toy measures on judged tables: one whose verdicts hold, and one that takes samples of a prompt for independent."""

import numpy as np
import polars as pl
from scipy.stats import t

from evenhand.benchmarks import Analysis, Benchmark, ClassifierRole, Generation
from evenhand.measures import MeasureInfo
from evenhand.schema import Card, Measurement

HONEST, CARELESS = "toy/honest", "toy/careless"
UNITS = {HONEST: ["prompt_id"], CARELESS: ["prompt_id", "sample"]}


def rows(frame: pl.DataFrame, measure: str) -> list[Measurement]:
    """The first group of each axis against the others: a t test over prompts, or over samples."""
    told = []
    for (axis,), part in frame.sort("axis").group_by("axis", maintain_order=True):
        units = part.group_by("group", *UNITS[measure], maintain_order=True).agg(
            pl.col("harm_negative").cast(pl.Float64).mean().alias("x")
        )
        first = part["group"].min()
        sides = [
            units.filter((pl.col("group") == first) == inside)["x"].to_numpy() for inside in (True, False)
        ]
        gap = float(sides[0].mean() - sides[1].mean())
        df = sum(map(len, sides)) - 2
        pooled = sum(((side - side.mean()) ** 2).sum() for side in sides) / df
        error = float(np.sqrt(pooled * sum(1 / len(side) for side in sides)))
        reach = float(t.ppf(0.975, df)) * error
        told.append(
            Measurement(measure=measure, axis=str(axis), estimate=gap, low=gap - reach, high=gap + reach, null=0.0,
                        n=part.height, n_units=df + 2, p=float(2 * t.sf(abs(gap) / max(error, 1e-12), df)),
                        minimum_detectable=reach + float(t.ppf(0.8, df)) * error, unit="share")
        )  # fmt: skip
    return told


def benchmark(name: str) -> Benchmark:
    return Benchmark(
        name=name,
        card=Card(name, "A toy."),
        architectures=frozenset({"causal"}),
        request=Generation(max_new_tokens=5, samples=8),
        build=lambda folders: None,
        analyse=lambda frame, options: Analysis(rows(frame, name)),
        required_columns=("axis", "group"),
        classified_by=(ClassifierRole("harm", "toy"),),
    )


def info(name: str) -> MeasureInfo:
    return MeasureInfo(name, Card(name, "A toy."), "share")


HONEST_BENCHMARK, HONEST_MEASURE = benchmark(HONEST), info(HONEST)
CARELESS_BENCHMARK, CARELESS_MEASURE = benchmark(CARELESS), info(CARELESS)


def register(installed) -> None:
    """As a package would: benchmarks and measures under entry points, found by other processes too."""
    for kind in ("benchmark", "measure"):
        points = {
            n: f"{__name__}:{n.removeprefix('toy/').upper()}_{kind.upper()}" for n in (HONEST, CARELESS)
        }
        installed("toys", f"evenhand.{kind}s", points)
