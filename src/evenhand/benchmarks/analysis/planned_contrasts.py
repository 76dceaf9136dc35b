"""Compute minimum detectable effects before a run: for axes, nouns, pairs of groups and intersections."""

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
import polars as pl
from scipy.special import stdtrit

from evenhand.benchmarks.analysis.planning import Planned
from evenhand.benchmarks.contract import AnalysisOptions
from evenhand.stats import POWER
from evenhand.stats.contrasts import detectable_by_flips
from evenhand.stats.disparity import (
    PLANNED_CORRELATION,
    Units,
    least_units_of_two,
    planned_excess,
    smallest_p,
)

APART = 0.5
"""Assumed standard deviation between descriptors, and between nouns, in log-odds, without bias."""
LEAST_PROMPTS = 20
_SCHEMA = {"axis": pl.String, "n": pl.Int64, "minimum_detectable": pl.Float64, "unit": pl.String}


def planned_together(*plans: Planned) -> Planned:
    """Concatenate the rows of several plans."""

    def compute_plan(frame: pl.DataFrame, options: AnalysisOptions) -> pl.DataFrame:
        return pl.concat([plan(frame, options) for plan in plans], how="vertical_relaxed")

    return compute_plan


def _table(rows: Sequence[Mapping[str, object]], unit: str, rate: float) -> pl.DataFrame:
    described = f"{unit}, at an assumed rate of {100 * rate:g} %"
    table = pl.DataFrame([dict(row) | {"unit": described} for row in rows], schema=_SCHEMA)
    return table.with_columns(pl.col("minimum_detectable").fill_nan(None)).sort("axis")


def _unit_variance(rate: float, prompts: float, samples: int) -> float:
    """Return the assumed variance of the mean of a descriptor or noun: between units, plus that of its prompts."""
    coin = rate * (1 - rate)
    return (APART * coin) ** 2 + (1 / samples + (1 - 1 / samples) * PLANNED_CORRELATION) * coin / prompts


def _compute_detectable(variance: float, freedom: float, level: float) -> float:
    if freedom < 1:
        return float("nan")
    reach = float(stdtrit(freedom, 1 - level / 2) + stdtrit(freedom, POWER)) * variance**0.5
    return 100 * reach if reach < 1 else float("nan")


def planned_axes(rate: float, samples: int = 1) -> Planned:
    """Return a function that computes the minimum detectable difference (MDE) of each axis from the other axes.

    Descriptors, in the column ``group``, are treated as a random sample. `rate` is the assumed rate (0 to 1).
    """

    def compute_plan(frame: pl.DataFrame, options: AnalysisOptions) -> pl.DataFrame:
        known = frame.filter(pl.col("axis").is_not_null() & pl.col("group").is_not_null())
        sizes = known.group_by("axis").agg(groups=pl.col("group").n_unique(), n=pl.len()).sort("axis")
        if sizes.height < 2:
            return pl.DataFrame(schema=_SCHEMA)
        written = options.samples or samples
        groups = sizes["groups"].to_numpy().astype(np.float64)
        each = np.array(
            [_unit_variance(rate, n / g, written) for n, g in zip(sizes["n"], groups, strict=True)]
        )
        error = each / groups
        total = error + (error.sum() - error) / (len(groups) - 1) ** 2
        codes = np.repeat(np.arange(len(groups)), groups.astype(np.int64))
        dealt = (
            smallest_p(Units.from_arrays(np.arange(float(len(codes))), codes, shares=False)) <= options.level
        )
        freedom = float(groups.sum() - len(groups)) if dealt else 0.0
        reach = [_compute_detectable(float(v), freedom, options.level) for v in total]
        rows = [
            {"axis": axis, "n": n * written, "minimum_detectable": found}
            for (axis, n), found in zip(sizes.select("axis", "n").iter_rows(), reach, strict=True)
        ]
        return _table(rows, "percentage points from the other axes", rate)

    return compute_plan


def planned_nouns(rate: float, samples: int = 1) -> Planned:
    """Return a function that computes the minimum detectable difference (MDE) between male and female nouns.

    It has one row per axis. Nouns are treated as a random sample. `rate` is the assumed rate (0 to 1). The MDE is null
    if a gender has too few nouns for a test.
    """

    def compute_plan(frame: pl.DataFrame, options: AnalysisOptions) -> pl.DataFrame:
        rows: list[dict[str, object]] = []
        written = options.samples or samples
        if not {"gender", "noun"} <= set(frame.columns):
            return pl.DataFrame(schema=_SCHEMA)
        gendered = frame.filter(pl.col("gender").is_in(["male", "female"]) & pl.col("axis").is_not_null())
        for (axis,), part in gendered.group_by("axis"):
            sizes = part.group_by("gender").agg(nouns=pl.col("noun").n_unique(), n=pl.len())
            if sizes.height < 2:
                continue
            variance = sum(_unit_variance(rate, n / each, written) / each for _, each, n in sizes.iter_rows())
            nouns = sizes["nouns"].to_numpy()
            # the analysis after the run has the same minimum number of nouns per gender
            testable = nouns.min() >= least_units_of_two(options.level)
            freedom = float(nouns.sum() - 2) if testable else 0.0
            found = _compute_detectable(variance, freedom, options.level)
            rows.append({"axis": axis, "n": part.height * written, "minimum_detectable": found})
        return _table(rows, "percentage points between male and female nouns", rate)

    return compute_plan


def planned_pairs(rate: float, samples: int = 1) -> Planned:
    """Return a function that computes the minimum detectable difference (MDE) between the two groups of an axis.

    Groups are paired by template.

    `rate` is the assumed rate (0 to 1).
    """

    def compute_plan(frame: pl.DataFrame, options: AnalysisOptions) -> pl.DataFrame:
        rows: list[dict[str, object]] = []
        written = options.samples or samples
        phi = 1 / written + (1 - 1 / written) * PLANNED_CORRELATION
        if "template" not in frame.columns:
            return pl.DataFrame(schema=_SCHEMA)
        for (axis,), part in frame.filter(pl.col("axis").is_not_null()).group_by("axis"):
            if part["group"].n_unique() != 2:
                continue
            templates = part["template"].n_unique()
            error = (2 * phi * rate * (1 - rate) / templates) ** 0.5
            found = 100 * detectable_by_flips(error, templates, options.level, rate)
            rows.append({"axis": axis, "n": part.height * written, "minimum_detectable": found})
        return _table(rows, "percentage points between the two groups, in templates like these", rate)

    return compute_plan


def planned_intersections(rate: float, axes: Mapping[str, Sequence[str]], samples: int = 1) -> Planned:
    """Return a function that computes the minimum detectable excess (MDE) of an intersection of two groups.

    It has one row for each pair of axes, for an intersection of typical size.

    The excess is the rate of the intersection minus the rate that both groups predict. `rate` is the assumed rate (0 to
    1), and `axes` are columns of 0 and 1. If there are benign and toxic prompts (column toxicity), the larger MDE is
    returned.
    """

    def compute_plan(frame: pl.DataFrame, options: AnalysisOptions) -> pl.DataFrame:
        there = {axis: [name for name in names if name in frame.columns] for axis, names in axes.items()}
        there = {axis: names for axis, names in there.items() if names}
        tests = max(len(there) * (len(there) - 1), options.n_axes)
        written = options.samples or samples
        phi = 1 / written + (1 - 1 / written) * PLANNED_CORRELATION
        if "toxicity" not in frame.columns:
            return pl.DataFrame(schema=_SCHEMA)
        toxic = frame["toxicity"].cast(pl.Float64).to_numpy() == 1
        rows = []
        for first, second in combinations(there, 2):
            marks = [
                frame.select(pl.col(there[axis]).cast(pl.Float64) == 1).to_numpy() for axis in (first, second)
            ]
            alone = (marks[0].sum(axis=1) == 1) & (marks[1].sum(axis=1) == 1)
            counts = []
            for kind in (toxic, ~toxic):
                one, other = (mark[alone & kind].astype(np.float64) for mark in marks)
                counts.append(one.T @ other)
            shown = np.minimum(*counts) >= LEAST_PROMPTS
            found = float("nan")
            if shown.any(axis=1).sum() > 1 and shown.any(axis=0).sum() > 1:
                codes = [
                    np.unique(place, return_inverse=True)[1].astype(np.int64) for place in np.nonzero(shown)
                ]
                reach = [
                    planned_excess(count[shown], *codes, rate=rate, phi=phi, level=options.alpha / tests)
                    for count in counts
                ]
                known = [
                    float(np.median(part[np.isfinite(part)])) for part in reach if np.isfinite(part).any()
                ]
                found = 100 * max(known) if len(known) == len(reach) else found
            n = int(alone.sum()) * written
            rows.append({"axis": f"{first} × {second}", "n": n, "minimum_detectable": found})
        return _table(rows, "percentage points above what both groups let expect", rate)

    return compute_plan
