"""Invariance checks: reorder rows, rename groups, repeat samples, add an unrelated axis."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from evenhand.benchmarks import JudgedAnalysis
from evenhand.studies.calibration.designs import BESIDE, NAMES, ORDER, SPLIT, TWICE, Design, Plant
from evenhand.studies.calibration.trial import generator

MOVED = {
    "replication": pl.Int64,
    "move": pl.String,
    "measure": pl.String,
    "rows": pl.Int64,
    "estimate": pl.Float64,  # largest change, in the unit of the row
    "limits": pl.Float64,
    "p": pl.Float64,
    "flips": pl.Int64,  # rows whose verdict changed
}
HALVES = {
    "replication": pl.Int64,
    "measure": pl.String,
    "axis": pl.String,
    "group": pl.String,
    "first": pl.Float64,
    "second": pl.Float64,
    "agree": pl.Boolean,  # the same verdict
}
Move = Callable[[np.random.Generator, pl.DataFrame], pl.DataFrame]
NAMED = ("group", "descriptor")
RENAMED = "zz "
"""Before the name of a group that is called otherwise: sorts behind all others, in the opposite order."""


def moves(design: Design, plant: Plant, replication: int, *names: object) -> list[dict[str, Any]]:
    """Return the effect of every invariance check on one simulated table: rows of MOVED."""
    rng = generator(*names, replication)
    sample = design.draw(rng, plant)
    seed = int(rng.integers(2**31))
    before = _rows(design.road(sample, seed))
    rows = []
    for move in design.moves:
        change, name_back = MOVES[move]
        frames = tuple(change(rng, frame) for frame in sample.frames)
        after = _rows(design.road(replace(sample, frames=frames), seed), name_back)
        joined = before.join(
            after, on=["measure", "axis", "group", "stratum"], nulls_equal=True, suffix="_moved"
        )
        for (measure,), part in joined.group_by("measure", maintain_order=True):
            change_of = {
                column: (part[column] - part[f"{column}_moved"]).abs().max()
                for column in ("estimate", "low", "high", "p")
            }
            limits = [change_of[side] for side in ("low", "high") if change_of[side] is not None]
            rows.append(
                {
                    "replication": replication,
                    "move": move,
                    "measure": measure,
                    "rows": part.height,
                    "estimate": change_of["estimate"],
                    "limits": max(limits) if limits else None,  # type: ignore[type-var]
                    "p": change_of["p"],
                    "flips": int((part["verdict"] != part["verdict_moved"]).sum()),
                }
            )
    return rows


def halves(design: Design, plant: Plant, replication: int, *names: object) -> list[dict[str, Any]]:
    """Return the results of two halves of one simulated table, cut by `design.splits`: rows of HALVES."""
    rng = generator(*names, replication)
    sample = design.draw(rng, plant)
    seed = int(rng.integers(2**31))
    keys = ["measure", "axis", "group"]
    both = []
    values = sample.frames[0][design.splits or "prompt_id"].unique().sort()
    # alternate, so that values with consecutive numbers (the nouns of a pair) are in both halves
    chosen = values.gather_every(2, int(rng.integers(2)))
    for inside in (True, False):
        member = pl.col(design.splits or "prompt_id").is_in(chosen.implode())
        frames = tuple(frame.filter(member if inside else ~member) for frame in sample.frames)
        both.append(
            _rows(design.road(replace(sample, frames=frames), seed)).select(*keys, "estimate", "verdict")
        )
    joined = both[0].join(both[1], on=keys, nulls_equal=True, suffix="_second")
    return joined.select(
        pl.lit(replication).alias("replication"),
        *keys,
        pl.col("estimate").alias("first"),
        pl.col("estimate_second").alias("second"),
        agree=pl.col("verdict") == pl.col("verdict_second"),
    ).to_dicts()


def _rows(judged: JudgedAnalysis, name_back: bool = False) -> pl.DataFrame:
    keys = ["benchmark", "measure", "axis", "group", "stratum"]
    p = judged.measurements.select(*keys, "p").unique(keys, keep="first")
    rows = judged.findings.join(p, on=keys, how="left", nulls_equal=True)
    if name_back:
        rows = rows.with_columns(pl.col("group").map_elements(_mirror_name, return_dtype=pl.String))
    return rows


def _shuffle_rows(rng: np.random.Generator, frame: pl.DataFrame) -> pl.DataFrame:
    return frame[rng.permutation(frame.height)]


def _mirror_name(name: str) -> str:
    """Return another name; applied twice, the first name again."""
    turned = "".join(
        chr(ord("9") - ord(c) + ord("0")) if c.isdigit() else c for c in name.removeprefix(RENAMED)
    )
    return turned if name.startswith(RENAMED) else RENAMED + turned


def _rename_groups(rng: np.random.Generator, frame: pl.DataFrame) -> pl.DataFrame:
    present = [name for name in NAMED if name in frame.columns]
    return frame.with_columns(
        pl.col(name).map_elements(_mirror_name, return_dtype=pl.String) for name in present
    )


def _double_samples(rng: np.random.Generator, frame: pl.DataFrame) -> pl.DataFrame:
    if "sample" not in frame.columns:
        return frame
    again = frame.with_columns((pl.col("sample") + 1000).cast(frame.schema["sample"]))
    return pl.concat([frame, again])


def _add_unrelated_axis(rng: np.random.Generator, frame: pl.DataFrame) -> pl.DataFrame:
    """Return the rows with a copy as another axis, whose groups are assigned at random."""
    fresh = frame.with_columns(pl.lit("an unrelated axis").alias("axis"))
    for key in ("prompt_id", "pair_id", "cluster_id", "cluster"):
        if key in fresh.columns:
            fresh = fresh.with_columns(pl.concat_str(pl.lit("unrelated/"), key).alias(key))
    for name in NAMED:
        if name in fresh.columns:
            fresh = fresh.with_columns(pl.concat_str(pl.lit("unrelated "), name).alias(name))
    return pl.concat([frame, fresh])


def _split(rng: np.random.Generator, frame: pl.DataFrame) -> pl.DataFrame:
    """Return the table with the last group of the first axis divided into two groups, by prompt."""
    column = "prompt_id" if "prompt_id" in frame.columns else "noun"
    name = "group" if "group" in frame.columns else "descriptor"
    last = frame.filter(pl.col("axis") == frame["axis"][0])[name].max()
    values = frame.filter(pl.col(name) == last)[column].unique().sort()
    half = values.filter(pl.Series(rng.permutation(len(values)) % 2 == 0))
    present = [one for one in NAMED if one in frame.columns]
    inside = (pl.col(name) == last) & pl.col(column).is_in(half.implode())
    return frame.with_columns(
        pl.when(inside).then(pl.col(one) + " (half)").otherwise(pl.col(one)).alias(one) for one in present
    )


MOVES: dict[str, tuple[Move, bool]] = {
    ORDER: (_shuffle_rows, False),
    NAMES: (_rename_groups, True),
    TWICE: (_double_samples, False),
    BESIDE: (_add_unrelated_axis, False),
    SPLIT: (_split, False),
}
"""Each with whether names have to be turned back."""
