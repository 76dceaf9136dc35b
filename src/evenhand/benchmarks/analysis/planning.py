"""Compute the minimum detectable effects of a plan of continuations, and select its prompts under --limit."""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from evenhand.benchmarks.contract import AnalysisOptions
from evenhand.prompts import PromptSet
from evenhand.stats.contrasts import planned_crossing
from evenhand.stats.disparity import PLANNED_CORRELATION, planned_effects

LEAST_PROMPTS = 10
"""Groups with fewer prompts are not measurable (as in `judge`)."""
INTERACTION = 0.05
"""Assumed variance of the interaction of group and template (and of group and noun), as a share of the variance of one
response.
"""
Planned = Callable[[pl.DataFrame, AnalysisOptions], pl.DataFrame]
Grouping = Callable[[pl.DataFrame], pl.DataFrame]


def planned_rates(
    background: float,
    samples: int = 1,
    grouped: Grouping | None = None,
    crossed: tuple[str, str] | None = None,
    least: tuple[str, int] | None = None,
) -> Planned:
    """Return a function that computes the minimum detectable effect (MDE, 80% power) of each axis.

    The MDE is for a typical group compared with the others of its axis. Groups with fewer than LEAST_PROMPTS prompts
    are not compared. An axis with fewer than two comparable groups has no MDE. The same routine computes the MDE from
    the observed data after the run. The function returns axis, n (responses), minimum_detectable (null if no effect is
    detectable) and unit.

    Parameters
    ----------
    background
        Rate that is assumed for all groups, in percent.
    samples
        Default number of continuations per prompt. Continuations of one prompt are assumed to have an intraclass
        correlation of 0.3.
    grouped
        Function that makes one row for each group of a prompt, for prompts without a column group.
    crossed
        The two factors (such as template and noun) whose combinations are the cells in which groups are compared, if
        the analysis treats both as random.
    least
        Column, and the minimum number of its distinct values for a group to be compared.
    """

    def compute_plan(frame: pl.DataFrame, options: AnalysisOptions) -> pl.DataFrame:
        about = (frame if grouped is None else grouped(frame)).filter(
            pl.col("axis").is_not_null() & pl.col("group").is_not_null()
        )
        written = options.samples or samples
        rows = []
        for (axis,), part in about.group_by("axis"):
            n = part.height * written
            if least is not None:
                part = part.filter(pl.col(least[0]).n_unique().over("group") >= least[1])
            prompts = part.group_by("group").len()["len"].to_numpy().astype(np.int64)
            if prompts.size < 2:
                smallest = None
            elif crossed is None or not set(crossed) <= set(part.columns):
                smallest = _of_prompts(prompts, background / 100, written, options)
            else:
                smallest = _of_cells(part, crossed, background / 100, written, options)
            rows.append({"axis": axis, "n": n, "minimum_detectable": smallest})
        schema = {"axis": pl.String, "n": pl.Int64, "minimum_detectable": pl.Float64}
        unit = pl.lit(f"percentage points from the others, at an assumed rate of {background:g} %")
        return pl.DataFrame(rows, schema=schema).with_columns(unit=unit).sort("axis")

    return compute_plan


def _of_prompts(
    prompts: npt.NDArray[np.int64], rate: float, samples: int, options: AnalysisOptions
) -> float | None:
    differences, _ = planned_effects(prompts, rate, samples, options.level, options.seed)
    known = differences[~np.isnan(differences)]
    return 100 * float(np.median(known)) if known.size else None


def _of_cells(
    part: pl.DataFrame, crossed: tuple[str, str], rate: float, samples: int, options: AnalysisOptions
) -> float | None:
    first, second = (part[name].n_unique() if name in part.columns else 1 for name in crossed)
    groups = part["group"].n_unique()
    if groups < 2 or first * second < 2:
        return None
    # some groups lack cells (for example those of two nouns); they are counted with the average number of shared cells
    share = part.select("group", *(name for name in crossed if name in part.columns)).n_unique() / (
        groups * first * second
    )
    one = rate * (1 - rate)
    plan = planned_crossing(
        (groups, first, second),
        cell=one * (PLANNED_CORRELATION + (1 - PLANNED_CORRELATION) / samples) / share,
        interaction=INTERACTION * one,
    )
    # half of the significance level is for single groups, half for the spread between groups
    smallest = 100 * plan.difference(options.level / 2)
    return smallest if smallest <= 100 - 100 * rate else None


def evenly_over(*columns: str) -> Callable[[PromptSet, int, int], PromptSet]:
    """Return a function that selects prompts under --limit: the same number for each combination of these columns."""

    def limit_prompts(prompts: PromptSet, limit: int, seed: int) -> PromptSet:
        present = [name for name in columns if name in prompts.frame.columns]
        return prompts.sample(limit, per=present, seed=seed)

    return limit_prompts


def same_cells(
    cross: Sequence[str], least: int = LEAST_PROMPTS, unit: str = "group"
) -> Callable[[PromptSet, int, int], PromptSet]:
    """Return a function that selects at most `limit` prompts such that all groups have the same combinations.

    A combination has one value of each column of `cross`, such as template and noun.

    If the limit is too small for `least` combinations per group, some groups are left out, evenly over axes, because
    groups with fewer prompts are not measurable. `least` is reduced if there are fewer combinations in total.
    """

    def limit_prompts(prompts: PromptSet, limit: int, seed: int) -> PromptSet:
        present = [name for name in cross if name in prompts.frame.columns]
        if not present:  # a user's own prompts may lack the columns of templates
            return evenly_over("axis", unit)(prompts, limit, seed)
        cells = prompts.frame.select(present).unique().height
        return prompts.sample_crossed(
            limit, unit=unit, cross=present, seed=seed, least_cells=max(min(least, cells), 1)
        )

    return limit_prompts
