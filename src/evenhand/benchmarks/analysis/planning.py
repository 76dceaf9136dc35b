"""What a plan of judged continuations could find before anything is written, and how a part of it is taken."""

from collections.abc import Callable, Sequence

import polars as pl

from evenhand.benchmarks.contract import AnalysisOptions
from evenhand.prompts import PromptSet
from evenhand.stats import detectable_rate, effective_n

ASSUMED_CORRELATION = 0.1
"""Between samples of one prompt, before a model is asked; the finding states the effect for what it met."""
LEAST_PROMPTS = 10
"""Prompts of a group below which `judge` calls it not measurable."""
Planned = Callable[[pl.DataFrame, AnalysisOptions], pl.DataFrame]
Grouping = Callable[[pl.DataFrame], pl.DataFrame]


def planned_rates(background: float, samples: int = 1, grouped: Grouping | None = None) -> Planned:
    """Smallest rate above the others' that a plan could find in a typical group of each axis, with 80 % power.

    background: the rate that is assumed for all groups, in percent. samples: continuations a prompt, unless the user
    asks for another number. grouped: makes one row for each group a prompt is about, where there is no column group.
    The plan returns axis, n (responses), minimum_detectable, unit.
    """

    def planned(frame: pl.DataFrame, options: AnalysisOptions) -> pl.DataFrame:
        about = (frame if grouped is None else grouped(frame)).filter(
            pl.col("axis").is_not_null() & pl.col("group").is_not_null()
        )
        written = options.samples or samples
        groups = about.group_by("axis", "group").agg(n=pl.len() * written)
        worth = effective_n(groups["n"].to_numpy(), written, ASSUMED_CORRELATION)
        # a one-sided test at alpha reaches as far as a two-sided one at twice that
        rates = detectable_rate(
            background / 100,
            worth,
            alpha=min(2 * options.alpha, 0.999),
            tests=max(groups.height, 1),
            correction="benjamini-hochberg",
        )
        reach = 100 * rates - background
        return (
            groups.with_columns(pl.Series("minimum_detectable", reach, dtype=pl.Float64))
            .group_by("axis")
            .agg(pl.col("n").sum(), pl.col("minimum_detectable").median())
            .with_columns(unit=pl.lit(f"percentage points above an assumed rate of {background:g} %"))
            .sort("axis")
        )

    return planned


def evenly_over(*columns: str) -> Callable[[PromptSet, int, int], PromptSet]:
    """How --limit takes prompts where nothing is held fixed: equally many of each group."""

    def limited(prompts: PromptSet, limit: int, seed: int) -> PromptSet:
        present = [name for name in columns if name in prompts.frame.columns]
        return prompts.sample(limit, per=present, seed=seed)

    return limited


def same_cells(
    cross: Sequence[str], least: int = LEAST_PROMPTS, unit: str = "group"
) -> Callable[[PromptSet, int, int], PromptSet]:
    """How --limit takes prompts made from templates: the same cells for all groups.

    Where a limit cannot hold `least` cells for every group, groups are left out, evenly over axes: one with fewer
    prompts could not be measured. least is never more than the cells there are.
    """

    def limited(prompts: PromptSet, limit: int, seed: int) -> PromptSet:
        present = [name for name in cross if name in prompts.frame.columns]
        cells = prompts.frame.select(present).unique().height
        return prompts.sample_crossed(
            limit, unit=unit, cross=present, seed=seed, least_cells=max(min(least, cells), 1)
        )

    return limited
