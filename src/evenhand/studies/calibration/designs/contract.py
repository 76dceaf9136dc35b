"""The definition of a design: simulated data for one benchmark's pipeline, and the effects to plant in it.

A package with a benchmark provides designs for it under the entry-point group "evenhand.calibrations": a
function without arguments that returns `Design` objects.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import polars as pl

from evenhand.benchmarks import JudgedAnalysis

Pattern = Literal["none", "one", "half", "lone", "first"]
Key = tuple[str, str | None, str | None]
"""Measure, axis, group, as in a row of findings."""
Role = Literal["standard", "limit"]
ORDER, NAMES, TWICE = "rows in another order", "groups by other names", "every sample twice"
BESIDE, SPLIT = "an unrelated axis beside", "a group split in two"
"""What can be done to a table that says the same (`moves.MOVES`)."""
EVERYTHING = frozenset({"*"})


@dataclass(frozen=True)
class Plant:
    """What is planted.

    pattern: "none"; "one": the first group of the first axis, by `effect` in the unit of a group's row; "half": groups
    above and below by turns, with `effect` the standard deviation of the true values of the first axis; "lone": the
    same standard deviation made by the first group alone; "first": the first `harmed` groups, by `effect`.
    """

    pattern: Pattern = "none"
    effect: float = 0.0
    harmed: int = 0


@dataclass(frozen=True)
class Truth:
    """What is true of one row: its value, and whether a verdict of "biased" would be false."""

    value: float
    null: bool


@dataclass(frozen=True)
class Sample:
    """One simulated data set with its true values.

    frames: input of the pipeline (two for a change between models). truth: true value of each row. touched: axes with
    planted effects; a verdict on any other axis is false. at_null: measures with all rows at their null value;
    EVERYTHING if no groups differ.
    """

    frames: tuple[pl.DataFrame, ...]
    truth: Mapping[Key, Truth] = field(default_factory=dict)
    touched: frozenset[str | None] = frozenset()
    at_null: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Judged:
    """A measure that a design calibrates.

    pattern: how its smallest effect is planted; "none" where that is left to other designs. axis, group: the row whose
    stated smallest effect is planted; group None for rows of axes. largest: effect that can be planted. silence_counts:
    whether data sets in which that row is not measurable count as not finding it; else they are left out, and may only
    be about as many as without any effect.
    """

    measure: str
    pattern: Pattern = "none"
    axis: str | None = None
    group: str | None = None
    largest: float = float("inf")
    silence_counts: bool = False


Road = Callable[[Sample, int], JudgedAnalysis]
"""(data, seed of the analysis) -> measurements and findings."""


@dataclass(frozen=True)
class Design:
    """One simulated situation in which verdicts are checked.

    name: unique. about: one sentence. judged: the measures it calibrates; empty: all measures of the pipeline. draw:
    simulates a data set; all randomness comes from the generator. quick, full: number of data sets per arm. factors:
    multiples of the stated MDE at which power is measured. doses: numbers of harmed groups, each by `dose_effect`.
    role: "limit" designs violate assumptions of the measure; they are shown but do not count as failures. splits:
    column whose values are split into halves for split-half reliability. moves: names of the invariance checks.
    """

    name: str
    about: str
    road: Road
    draw: Callable[[np.random.Generator, Plant], Sample]
    judged: tuple[Judged, ...] = ()
    quick: int = 0
    full: int = 200
    factors: tuple[float, ...] = (1.0,)
    doses: tuple[int, ...] = ()
    dose_effect: float = 0.0
    sizes: tuple[float, ...] = ()
    """Fixed effects planted in the first group, for measures without a known minimum detectable effect."""
    role: Role = "standard"
    splits: str | None = None
    moves: tuple[str, ...] = ()
    heterogeneous: float = 0.0
    """Standard deviation of the true values that reliability is tried with."""
