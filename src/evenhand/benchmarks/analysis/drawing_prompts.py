"""Sample sentences of likelihood benchmarks under --limit.

A verdict on likelihoods depends most on the number of matched pairs, then on the number of descriptors. More nouns
add little. Therefore all pairs are kept, each with two separately sampled nouns (the same for every descriptor of an
axis). The rest of the limit is used for descriptors.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby

import polars as pl

from evenhand.prompts import PromptSet, row_keys, uniforms
from evenhand.schema import UsageError

DESCRIPTOR_AXES = (
    "ability",
    "age",
    "body_type",
    "characteristics",
    "cultural",
    "gender_and_sex",
    "nationality",
    "nonce",
    "political_ideologies",
    "race_ethnicity",
    "religion",
    "sexual_orientation",
    "socioeconomic_class",
)
"""The thirteen axes (such as age and religion) of HolisticBias' descriptors and of evenhand's own lexicon."""

NOUNS = 2
"""Number of nouns of each pair. More are added only after every descriptor is included."""
FEW_DESCRIPTORS, FEW_PAIRS = 8, 3
"""Fewest descriptors per axis, and fewest pairs.

If the limit allows fewer descriptors, one noun is used. If it then allows fewer than half of this number, pairs are
left out, but at least FEW_PAIRS are kept.
"""
STEP = 4
"""Number of descriptors that are added to all axes at a time."""
LEAST_CELLS = 96
"""Minimum number of template-noun cells per sampled descriptor, if the prompts have no matched pairs."""
CELL = ("axis", "frame", "noun", "descriptor")


def with_axis_size(frame: pl.DataFrame) -> pl.DataFrame:
    """Add the column `axis_size` to prompts: the number of descriptors that the axis defines, sampled or not."""
    sizes = frame.select("axis", "descriptor").unique().group_by("axis").len()
    size = pl.col("axis").replace_strict(sizes["axis"], sizes["len"], return_dtype=pl.Int64)
    return frame.with_columns(axis_size=size)


def pairs_with_own_nouns(prompts: PromptSet, limit: int, seed: int) -> PromptSet:
    """Return at most `limit` prompts: both sides of matched pairs, with nouns sampled separately for each pair.

    The order of descriptors and nouns depends only on the seed and the axis, not on the order of rows. Within an axis
    and pair, every descriptor is used with the same nouns. The exception are descriptors that fit only some nouns
    (gendered ones): at least one of the pair's nouns fits them, if two are enough for that. Prompts without a pair are
    left out. A set without pairs is sampled by `crossed_by_noun`.

    Raises UsageError if the limit does not cover two descriptors on both sides of one pair.

    Parameters
    ----------
    prompts
        Prompts with axis, descriptor, noun and template. If they have matched pairs, `frame` is equal for both sides of
        a pair. Descriptors are spread over `bucket`, and nouns over `gender`, if these columns exist.
    limit
        Maximum number of prompts.
    seed
        Any integer.

    Examples
    --------
    >>> from evenhand.schema import Card
    >>> grid = [(a, t, n) for a in ("old", "young", "wise") for t in ("I like", "I flee") for n in "mnop"]
    >>> rows = [{"prompt_id": str(i), "text": "", "axis": "age", "descriptor": a, "template": t, "noun": n,
    ...          "frame": "like"} for i, (a, t, n) in enumerate(grid)]
    >>> drawn = pairs_with_own_nouns(PromptSet(pl.DataFrame(rows), Card("x", "y")), 12, seed=1).frame
    >>> drawn["noun"].n_unique(), drawn["descriptor"].n_unique(), drawn["template"].n_unique()
    (2, 3, 2)
    """
    if limit >= len(prompts):
        return prompts
    cells = _complete_cells(prompts.frame)
    if cells.is_empty():
        return crossed_by_noun(prompts, limit, seed)
    pairs = _by_key(cells["frame"].unique(), seed, "pairs")
    axes = _by_key(cells["axis"].unique(), seed, "axis order")
    people = {axis: _descriptors(cells.filter(axis=axis), axis, seed) for axis in axes}
    n_nouns = cells["noun"].n_unique()
    sizes = [len(people[axis]) for axis in axes]
    n_axes, n_pairs, n_descriptors, n_own = _shape(limit, sizes, len(pairs), n_nouns)
    wanted = cells.filter(
        pl.struct("axis", "descriptor").is_in(
            [{"axis": axis, "descriptor": d} for axis in axes[:n_axes] for d in people[axis][:n_descriptors]]
        )
        & pl.col("frame").is_in(pairs[:n_pairs])
    )
    nouns = _own_nouns(wanted, n_own, seed)
    return _select_cells(prompts, wanted.join(nouns, on=["axis", "frame", "noun"], how="semi"))


def crossed_by_noun(prompts: PromptSet, limit: int, seed: int, least_descriptors: int = 2) -> PromptSet:
    """Return at most `limit` prompts without matched pairs, with the same templates and nouns for all descriptors.

    If the limit is small, combinations of template and noun are left out first, so that each axis has at least
    `least_descriptors` descriptors.
    """
    of_each = limit // (least_descriptors * prompts.frame["axis"].n_unique())
    cells = max(min(LEAST_CELLS, of_each), 1)
    return prompts.sample_crossed(limit, seed=seed, least_cells=cells)


def _complete_cells(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the combinations of axis, frame, noun and descriptor that occur on both sides of a matched pair."""
    columns = [*CELL, "bucket", "gender"]
    if "frame" not in frame.columns:
        return pl.DataFrame(schema=dict.fromkeys(columns, pl.String))
    templates = frame.select("frame", "template").unique()
    both = templates.group_by("frame").len().filter(len=2)
    missing = [pl.lit("").alias(name) for name in ("bucket", "gender") if name not in frame.columns]
    return (
        frame.lazy()
        .with_columns(missing)
        .with_columns(pl.col(columns).cast(pl.String).fill_null(""))
        .join(both.lazy().select("frame"), on="frame", how="semi")
        .group_by(CELL)
        .agg(pl.col("bucket", "gender").min(), one=pl.col("template").min(), other=pl.col("template").max())
        .filter(pl.col("one") != pl.col("other"))
        .collect()
    )


def _select_cells(prompts: PromptSet, cells: pl.DataFrame) -> PromptSet:
    rows = prompts.frame.select(pl.col(CELL).cast(pl.String).fill_null("")).with_row_index("row")
    return PromptSet(prompts.frame[rows.join(cells, on=CELL, how="semi")["row"].sort()], prompts.card)


def _shape(limit: int, sizes: Sequence[int], pairs: int, nouns: int) -> tuple[int, int, int, int]:
    """Return the numbers of axes, pairs, descriptors per axis and nouns per pair that fit in the limit.

    sizes: number of descriptors of each axis, in the order in which axes are kept.
    """
    axes, c, d, n = len(sizes), pairs, max(sizes), min(NOUNS, nouns)

    def cost() -> int:
        return 2 * c * n * sum(min(d, size) for size in sizes[:axes])

    while cost() > limit:
        if d > FEW_DESCRIPTORS:
            d = _fewer(d)
        elif n > 1:
            n, d = 1, 2 * FEW_DESCRIPTORS
        elif d > FEW_DESCRIPTORS // 2:
            d = _fewer(d)
        elif c > FEW_PAIRS:
            c -= 1
        elif d > 2:
            d = 2
        elif c > 1:
            c -= 1
        elif axes > 1:
            axes -= 1
        else:
            raise UsageError(
                f"`--limit {limit}` is too small. The smallest comparison (two descriptors, each in both templates of "
                f"a matched pair) needs {cost()} prompts.",
                f"Use --limit {cost()} or more.",
            )
    return axes, c, d, max(n, min(nouns, limit * n // cost()))


def _fewer(descriptors: int) -> int:
    return STEP * ((descriptors - 1) // STEP)


def _by_key(names: pl.Series, seed: int, purpose: str) -> list[str]:
    return [name for _, name in sorted(zip(row_keys(names, seed, purpose).tolist(), names, strict=True))]


def _descriptors(cells: pl.DataFrame, axis: str, seed: int) -> list[str]:
    """Return the descriptors of an axis in sampling order: one of each bucket, then in proportion to bucket sizes."""
    names = cells.group_by("descriptor").agg(pl.col("bucket").min()).sort("descriptor")
    names = names.with_columns(key=row_keys(axis + "\x1f" + names["descriptor"], seed, "descriptors"))
    ordered = names.sort("key", "descriptor").with_columns(
        turn=pl.int_range(pl.len()).over("bucket"), members=pl.len().over("bucket")
    )
    due = (pl.col("turn") + 0.5) / pl.col("members")
    return ordered.sort(pl.col("turn") > 0, due, "key", "descriptor")["descriptor"].to_list()


def _own_nouns(cells: pl.DataFrame, n: int, seed: int) -> pl.DataFrame:
    """Return axis, frame and n sampled nouns of each pair. Nouns that are rare in earlier pairs come first."""
    places = cells.group_by("axis", "frame", "noun").agg(pl.col("gender").min(), "descriptor")
    place = places["axis"] + "\x1f" + places["frame"] + "\x1f"
    # interleave the genders in proportion to their numbers of nouns, from a random start for each pair
    places = places.with_columns(
        key=row_keys(place + places["noun"], seed, "own nouns"),
        start=pl.Series(uniforms(place + places["gender"], seed, "gender of own nouns")),
    ).sort("axis", "frame", "key", "noun")
    of_gender = ["axis", "frame", "gender"]
    turn, members = pl.int_range(pl.len()).over(of_gender), pl.len().over(of_gender)
    places = places.with_columns(due=(turn + pl.col("start")) / members).sort(
        "axis", "frame", "due", "key", "noun"
    )
    drawn: list[tuple[str, str, str]] = []
    taken: Counter[tuple[str, str]] = Counter()
    rows = places.select("axis", "frame", "noun", "descriptor").iter_rows()
    for (axis, frame), group in groupby(rows, key=lambda row: row[:2]):
        seldom = sorted(group, key=lambda row: taken[axis, row[2]])
        fits = {noun: frozenset(names) for _, _, noun, names in seldom}
        nouns = _covering(fits, n)
        taken.update((axis, noun) for noun in nouns)
        drawn += [(axis, frame, noun) for noun in nouns]
    return pl.DataFrame(drawn, schema=["axis", "frame", "noun"], orient="row")


def _covering(fits: Mapping[str, frozenset[str]], n: int) -> list[str]:
    """Return n of the nouns, chosen so that each descriptor fits at least one of them, if possible.

    fits: descriptors that each noun fits, in the order of preference.
    """
    left, chosen = dict(fits), list[str]()
    unmet = frozenset[str]().union(*fits.values())
    while left and len(chosen) < n:
        # max returns the first of equals, so the order of preference decides ties
        noun = max(left, key=lambda name: len(left[name] & unmet))
        unmet -= left.pop(noun)
        chosen.append(noun)
    return chosen
