"""Sentences in matched pairs of templates: what a phrase gains from one to the other, by pair, noun and descriptor."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from evenhand.measures.likelihood.crossed import LARGEST_CROSSING
from evenhand.schema import DataError, UsageError
from evenhand.stats import Floats


@dataclass(frozen=True)
class Contrasts:
    """One axis: `values[c, n, d]`, surprisal in the negative minus surprisal in the positive template of pair c.

    own_nouns: each pair has nouns of its own, the same for all descriptors (n then only counts them); else n
    is the same noun in every pair. NaN where either sentence is missing.
    """

    axis: str
    pairs: list[tuple[str, str]]
    nouns: int
    descriptors: list[str]
    values: Floats
    own_nouns: bool


def contrasts_by_axis(
    frame: pl.DataFrame,
    *,
    positive: Sequence[str],
    negative: Sequence[str],
    measure: str,
    value: str = "surprisal",
) -> Iterator[Contrasts]:
    """The contrasts of each axis of `frame` (axis, template, noun, descriptor and `value`), axes sorted.

    positive, negative: templates, matched by position. Rows that share axis, template, noun and descriptor
    are averaged. Nouns are taken as each pair's own where most occur in few of the pairs, else as crossed with pairs.
    Raises UsageError for sides that do not match, DataError for unknown templates, rows without labels, or a table
    too large to be held.
    """
    _check_templates(frame, positive, negative, measure)
    keys = ["axis", "noun", "descriptor"]
    for name in keys:
        if frame[name].null_count():
            raise DataError(
                f"{measure} found {frame[name].null_count()} rows without {name}.",
                "Fill or drop these rows before measuring.",
            )
    numbers = range(len(positive))
    sides = pl.DataFrame(
        {
            "template": [*positive, *negative],
            "contrast": [*numbers, *numbers],
            "sign": [-1.0] * len(positive) + [1.0] * len(negative),
        },
        schema={"template": pl.String, "contrast": pl.Int64, "sign": pl.Float64},
    )
    number = pl.col(value).cast(pl.Float64)
    cells = (
        frame.select(*(pl.col(name).cast(pl.String) for name in [*keys, "template"]), value)
        .join(sides, on="template")
        .group_by([*keys, "contrast", "sign"])
        .agg(pl.when(number.is_finite()).then(number).mean().alias("mean"))
        .group_by([*keys, "contrast"])
        # a pair with one half alone, or missing, is a cell without a number
        .agg(
            pl.when((pl.len() == 2) & (pl.col("mean").null_count() == 0))
            .then((pl.col("sign") * pl.col("mean")).sum())
            .alias("difference")
        )
    )
    texts = list(zip(positive, negative, strict=True))
    for (axis,), rows in cells.sort("axis").group_by("axis", maintain_order=True):
        yield _laid_out(str(axis), rows, texts)


def nouns_are_own(pairs: int, cells: int, nouns: int) -> bool:
    """Whether each pair has nouns of its own, rather than all pairs the same.

    cells: distinct pairs with a noun. nouns: distinct nouns. Own if a noun occurs in few of the pairs (drawn anew
    for each pair it may occur again by chance); one noun in all pairs varies with nothing, so the pairs are the sample.

    >>> nouns_are_own(12, 24, 20), nouns_are_own(5, 45, 9)
    (True, False)
    """
    return nouns == 1 or (pairs > 1 and cells / nouns <= max(1.5, pairs / 4))


def _laid_out(axis: str, rows: pl.DataFrame, texts: list[tuple[str, str]]) -> Contrasts:
    used = rows["contrast"].unique().sort().to_list()
    descriptors = rows["descriptor"].unique().sort()
    pairs = rows.select("contrast", "noun").unique()
    nouns = pairs["noun"].n_unique()
    own = nouns_are_own(len(used), pairs.height, nouns)
    rank = pl.col("noun").rank("dense")
    place = pairs.with_columns((rank.over("contrast") if own else rank).cast(pl.Int64).alias("n") - 1)
    shape = (len(used), int(place["n"].max() or 0) + 1, len(descriptors))  # type: ignore[arg-type]
    if np.prod(shape, dtype=np.float64) > LARGEST_CROSSING:
        raise DataError(
            f"Axis {axis!r}: {shape[0]} pairs x {shape[1]} nouns x {shape[2]} descriptors: too many.",
            "The column noun should hold the few nouns that descriptors share, not the whole text.",
        )
    located = rows.join(place, on=["contrast", "noun"])
    values = np.full(shape, np.nan)
    c = located["contrast"].replace_strict(used, list(range(len(used))), return_dtype=pl.Int64).to_numpy()
    d = located["descriptor"].cast(pl.Enum(descriptors)).to_physical().to_numpy().astype(np.intp)
    values[c, located["n"].to_numpy(), d] = located["difference"].fill_null(float("nan")).to_numpy()
    return Contrasts(
        axis=axis,
        pairs=[texts[number] for number in used],
        nouns=shape[1],
        descriptors=descriptors.to_list(),
        values=values,
        own_nouns=own,
    )


def _check_templates(
    frame: pl.DataFrame, positive: Sequence[str], negative: Sequence[str], measure: str
) -> None:
    both = set(positive) & set(negative)
    if both or not positive or len(positive) != len(negative):
        raise UsageError(
            f"{measure} got {len(positive)} positive and {len(negative)} negative templates"
            + (f", {sorted(both)} on both sides." if both else "."),
            "Give templates in matched pairs, the first positive one with the first negative one, none on both sides.",
        )
    if twice := [t for side in (positive, negative) for t in set(side) if list(side).count(t) > 1]:
        raise UsageError(f"{measure} got {twice[0]!r} in two pairs.", "Each template belongs to one pair.")
    absent = sorted({*positive, *negative} - set(frame["template"].unique()))
    if absent:
        raise DataError(
            f"No row has the template {absent[0]!r}" + (f" (nor {absent[1:]})." if absent[1:] else "."),
            "Name templates exactly as the column `template` has them.",
        )
