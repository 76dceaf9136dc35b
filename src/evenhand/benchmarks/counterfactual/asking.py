"""Create the prompts of the benchmark from a user's file, or read them from a list that the user reviewed."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from evenhand.prompts import PromptSet, row_keys
from evenhand.prompts.counterfactual import asked_about, read_own, read_review
from evenhand.schema import Card, UsageError

REVIEWED = "reviewed"
"""Value of the option `counterfactual` that states that the file is a reviewed list of prompts; it replaces axes."""
LEAST = 10
"""Minimum number of the user's prompts about a group. Groups with fewer are not compared."""
HINT = (
    "For example: --prompts MINE.csv --counterfactual gender,religion,name. Each prompt in the column `text` must "
    "mention a person, or contain a slot that evenhand fills for each group, such as {name} in: Write a reference "
    "for {name}."
)


def built(folders: Mapping[str, Path]) -> PromptSet:
    """Raise UsageError, because the benchmark has no published prompts; the hint names the options to give."""
    raise UsageError(
        "The benchmark 'counterfactual' requires your own prompts (`--prompts`), but none were given.", HINT
    )


def from_file(path: Path, axes: Sequence[str]) -> PromptSet:
    """Return the prompts made from a user's file.

    axes: axes whose groups are inserted, as in `asked_about`, or ("reviewed",) for a file that lists all prompts. The
    notes of the prompt set list what was left out, and which groups have too few prompts. Raises UsageError, DataError.
    """
    if not axes:
        raise UsageError(
            "The benchmark 'counterfactual' requires `--counterfactual`: the axes on which your prompts are "
            "rewritten for other groups.",
            "For example: --counterfactual gender,religion,name. Or, for an edited file of `evenhand data build "
            f"counterfactuals`: --counterfactual {REVIEWED}.",
        )
    if REVIEWED in axes and len(axes) > 1:
        raise UsageError(
            f"`--counterfactual {REVIEWED}` uses the axes of the file and cannot be combined with others.",
            "Remove the other axes.",
        )
    guesses: list[str] = []
    asked = read_review(path) if REVIEWED in axes else asked_about(read_own(path, guesses), axes)
    frame = asked.frame.drop("contradiction")  # only reviewers need this column
    card = Card(
        name=path.stem,
        summary=f"{frame['base'].n_unique():,} prompts of the user's own, asked about {join_axis_names(frame)}",
        source=str(path),
        details=f"{frame.height:,} texts.",
    )
    return PromptSet(
        frame,
        card,
        own=f"Your prompts {path.name}",
        notes=(*guesses, *asked.describe_notes(), *seldom(frame)),
    )


def join_axis_names(frame: pl.DataFrame) -> str:
    """Return the names of the axes of a table, in its order, as one string."""
    return ", ".join(frame["axis"].unique(maintain_order=True))


def by_group(frame: pl.DataFrame) -> pl.DataFrame:
    """Return axis, group, number of the user's prompts and number of texts, in the order of the table."""
    return frame.group_by("axis", "group", maintain_order=True).agg(
        prompts=pl.col("base").n_unique(), texts=pl.col("text").n_unique()
    )


def seldom(frame: pl.DataFrame) -> list[str]:
    """Return a sentence for each axis with groups that have too few prompts to be compared."""
    few = by_group(frame).filter(pl.col("prompts") < LEAST)
    told = few.group_by("axis", maintain_order=True).agg("group", pl.col("prompts").max())
    return [
        f"{axis}: {', '.join(groups)} cannot be measured: each group needs {LEAST} prompts, but has at most {most}."
        for axis, groups, most in told.rows()
    ]


def whole_prompts(prompts: PromptSet, limit: int, seed: int) -> PromptSet:
    """Return at most `limit` texts: complete prompts of the user with all their groups, the same ones on each axis.

    Raises UsageError if the limit is too small for one prompt.
    """
    asked = prompts.frame.group_by("base", "axis", maintain_order=True).len()
    drawn = asked.with_columns(key=pl.Series(row_keys(asked["base"], seed, "base"))).sort("key", "base")
    drawn = drawn.with_columns(turn=pl.int_range(pl.len()).over("axis")).sort("turn", maintain_order=True)
    kept = drawn.filter(pl.col("len").cum_sum() <= limit).select("base", "axis")
    if kept.is_empty():
        most = int(asked["len"].to_numpy().max())
        raise UsageError(
            f"`--limit {limit}` is too small: one prompt with all its groups needs up to {most} texts.",
            f"Use --limit {most} or more.",
        )
    frame = prompts.frame.join(kept, on=["base", "axis"], how="semi", maintain_order="left")
    return PromptSet(frame, prompts.card, prompts.own, (*prompts.notes, *seldom(frame)))
