"""Differences of surprisal between matched templates, by pair of templates, noun and descriptor."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from evenhand.measures.columns import require_keys
from evenhand.measures.likelihood.crossed import LARGEST_CROSSING
from evenhand.schema import DataError, UsageError
from evenhand.stats import Floats

LEAST_NOUNS = 3
"""Minimum number of nouns, shared by all pairs of templates, that count as a random sample.

With fewer, results hold for these nouns only. In simulations (300 data sets per design, 5 pairs, 16 descriptors), the
95% interval of the spread covered 84 to 100% if two nouns were treated as a sample.
"""
_NEARLY_OWN = 1.2
"""Up to this average number of pairs per noun, nouns count as sampled separately for each pair."""


@dataclass(frozen=True)
class Contrasts:
    """Differences of surprisal between negative and positive templates, for one axis.

    Surprisal is minus the log-likelihood. A contrast is a pair of templates, or several pairs of one family (wordings
    of the same statement).

    Attributes
    ----------
    axis : str
        Name of the axis, such as age.
    families : list of str, length c
        Names of the contrasts.
    nouns : int
        Number of nouns of all sentences.
    descriptors : list of str, length d
        Descriptors of the axis, such as "old".
    values : numpy.ndarray, shape (c, n, d)
        Surprisal in the negative minus surprisal in the positive template. NaN if either sentence is missing.
    own_nouns : bool
        True if each contrast has its own nouns, the same for all descriptors. The second dimension of `values` then
        only counts nouns and pairs within a contrast. If False, it is the same noun in every contrast.
    only_nouns : tuple of str
        The nouns, if there are too few of them to count as a sample; otherwise empty.
    """

    axis: str
    families: list[str]
    nouns: int
    descriptors: list[str]
    values: Floats
    own_nouns: bool
    only_nouns: tuple[str, ...]


def contrasts_by_axis(
    frame: pl.DataFrame,
    *,
    positive: Sequence[str],
    negative: Sequence[str],
    measure: str,
    value: str = "surprisal",
    families: Sequence[str] | None = None,
    own_nouns: bool | None = None,
) -> Iterator[Contrasts]:
    """Yield the differences of surprisal between negative and positive templates, for each axis in alphabetical order.

    Parameters
    ----------
    frame : polars.DataFrame
        One row per sentence with ``axis``, ``template``, ``noun``, ``descriptor`` and the column named by `value`. Rows
        that agree in the first four columns are averaged.
    positive, negative : sequence of str
        Templates, matched by position.
    measure : str
        Name of the measure, for error messages.
    value : str, default "surprisal"
        Column with the numbers.
    families : sequence of str, optional
        Family of each pair. Pairs of one family are one contrast. Default: each pair is a contrast.
    own_nouns : bool, optional
        True if equal nouns in two contrasts have nothing in common. Default: decided by `nouns_are_own`.

    Yields
    ------
    Contrasts
        The differences of one axis.

    Raises
    ------
    UsageError
        The numbers of positive and negative templates or of families differ.
    DataError
        A template is missing, a row lacks a label, or the table is too large for memory.
    """
    _check_templates(frame, positive, negative, measure)
    if families is not None and len(families) != len(positive):
        raise UsageError(
            f"{measure}: families has {len(families)} entries, but there are {len(positive)} pairs of templates.",
            "Give the family of each pair, in the order of the pairs. A pair without a family needs a unique "
            "name.",
        )
    kinds = (
        list(families)
        if families is not None
        else [f"{k} | {h}" for k, h in zip(positive, negative, strict=True)]
    )
    places = {kind: i for i, kind in enumerate(dict.fromkeys(kinds))}
    keys = ["axis", "noun", "descriptor"]
    require_keys(frame, keys, measure)
    numbers = range(len(positive))
    sides = pl.DataFrame(
        {
            "template": [*positive, *negative],
            "pair": [*numbers, *numbers],
            "contrast": [places[kind] for kind in kinds] * 2,
            "sign": [-1.0] * len(positive) + [1.0] * len(negative),
        },
        schema={"template": pl.String, "pair": pl.Int64, "contrast": pl.Int64, "sign": pl.Float64},
    )
    number = pl.col(value).cast(pl.Float64)
    cells = (
        frame.select(*(pl.col(name).cast(pl.String) for name in [*keys, "template"]), value)
        .join(sides, on="template")
        .group_by([*keys, "contrast", "pair", "sign"])
        .agg(pl.when(number.is_finite()).then(number).mean().alias("mean"))
        .group_by([*keys, "contrast", "pair"])
        # a pair with a missing sentence is a missing cell
        .agg(
            pl.when((pl.len() == 2) & (pl.col("mean").null_count() == 0))
            .then((pl.col("sign") * pl.col("mean")).sum())
            .alias("difference")
        )
    )
    for (axis,), rows in cells.sort("axis").group_by("axis", maintain_order=True):
        yield _laid_out(str(axis), rows, list(places), own_nouns)


def nouns_are_own(pairs: int, cells: int, nouns: int) -> bool:
    """Return True if each pair of templates has its own nouns, so that only the pairs count as a sample.

    Parameters
    ----------
    pairs : int
        Number of pairs of templates.
    cells : int
        Number of distinct combinations of pair and noun.
    nouns : int
        Number of distinct nouns.

    Notes
    -----
    Nouns are a pair's own if nearly every noun occurs in one pair only. The result is also True for one or two nouns
    that all pairs share. They are too few to show how much nouns vary, so results hold for these nouns only.

    >>> nouns_are_own(12, 24, 20), nouns_are_own(12, 24, 8), nouns_are_own(5, 45, 9), nouns_are_own(5, 10, 2)
    (True, False, False, True)
    """
    return nouns < LEAST_NOUNS or (pairs > 1 and cells / nouns <= _NEARLY_OWN)


def _laid_out(axis: str, rows: pl.DataFrame, kinds: list[str], own_nouns: bool | None) -> Contrasts:
    used = rows["contrast"].unique().sort().to_list()
    descriptors = rows["descriptor"].unique().sort()
    cells = rows.select("contrast", "noun").unique()
    names = cells["noun"].unique()
    own = nouns_are_own(len(used), cells.height, len(names)) if own_nouns is None else own_nouns
    # like nouns, the wordings of a family vary within a contrast; nouns that all contrasts share are shared by them too
    within = ["pair", "noun"] if own else ["noun"]
    rows = rows.group_by("contrast", *within, "descriptor").agg(pl.col("difference").mean())
    pairs = rows.select("contrast", *within).unique()
    rank = pl.struct(within).rank("dense")
    place = pairs.with_columns((rank.over("contrast") if own else rank).cast(pl.Int64).alias("n") - 1)
    shape = (len(used), int(place["n"].max() or 0) + 1, len(descriptors))  # type: ignore[arg-type]
    if np.prod(shape, dtype=np.float64) > LARGEST_CROSSING:
        raise DataError(
            f"Axis {axis!r} has too many combinations: {shape[0]} pairs of templates x {shape[1]} nouns x "
            f"{shape[2]} descriptors.",
            "Check the column noun: it must contain the few nouns that descriptors share, not the whole text.",
        )
    located = rows.join(place, on=["contrast", *within])
    values = np.full(shape, np.nan)
    c = located["contrast"].replace_strict(used, list(range(len(used))), return_dtype=pl.Int64).to_numpy()
    d = located["descriptor"].cast(pl.Enum(descriptors)).to_physical().to_numpy().astype(np.intp)
    values[c, located["n"].to_numpy(), d] = located["difference"].fill_null(float("nan")).to_numpy()
    return Contrasts(
        axis=axis,
        families=[kinds[number] for number in used],
        nouns=shape[1],
        descriptors=descriptors.to_list(),
        values=values,
        own_nouns=own,
        only_nouns=tuple(names.sort()) if len(names) < LEAST_NOUNS else (),
    )


def _check_templates(
    frame: pl.DataFrame, positive: Sequence[str], negative: Sequence[str], measure: str
) -> None:
    both = set(positive) & set(negative)
    if both or not positive or len(positive) != len(negative):
        raise UsageError(
            f"{measure}: positive and negative must contain equally many templates and none in common, got "
            f"{len(positive)} and {len(negative)}" + (f", with {sorted(both)} in both." if both else "."),
            "Give matched pairs: the first positive template belongs to the first negative one.",
        )
    if twice := [t for side in (positive, negative) for t in set(side) if list(side).count(t) > 1]:
        raise UsageError(
            f"{measure}: the template {twice[0]!r} occurs in two pairs.",
            "Use each template in one pair only.",
        )
    absent = sorted({*positive, *negative} - set(frame["template"].unique()))
    if absent:
        raise DataError(
            f"{measure}: no row has the template {absent[0]!r}"
            + (f" (nor {absent[1:]})." if absent[1:] else "."),
            "Write templates exactly as in the column `template`.",
        )
