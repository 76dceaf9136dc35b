"""Samples of prompts that depend on identifiers and a seed only, and that keep comparisons paired.

Random numbers belong to a row, not to its position: they are a seeded hash of its identifier (Polars' own
hashes may change between versions and processes). In a crossed sample, every group of an axis occurs in the
same cells. A cell is a combination of the crossed columns, usually template x noun. Likelihood measures compare
descriptors by noun within template, so a plain random sample would leave almost nothing to pair.
"""

import hashlib
from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evenhand.schema import UsageError

LONGEST_HASHED_IN_PLACE = 64  # bytes; longer identifiers are first shortened by BLAKE2


def row_keys(ids: pl.Series, seed: int, purpose: str = "") -> NDArray[np.uint64]:
    """Return one pseudo-random 64-bit number per identifier.

    Use it to draw rows reproducibly: the number of a row does not depend on the other rows or their order.

    Parameters
    ----------
    ids : polars.Series of str, length n
        Identifiers. Null counts as the empty string.
    seed : int
        Random seed.
    purpose : str, default ""
        Name of the use. Numbers for different purposes are independent, also with the same seed.

    Returns
    -------
    numpy.ndarray of uint64, shape (n,)
        The numbers.

    Notes
    -----
    The method is FNV-1a over the UTF-8 bytes, finished with the splitmix64 mixer.

    Examples
    --------
    >>> a = row_keys(pl.Series(["x", "y"]), seed=1)
    >>> bool((a[::-1] == row_keys(pl.Series(["y", "x"]), seed=1)).all())
    True
    """
    parts = [value or b"" for value in ids.cast(pl.String).cast(pl.Binary).to_list()]
    start = hashlib.blake2b(f"{seed}\x1f{purpose}".encode(), digest_size=8).digest()
    state = np.full(len(parts), int.from_bytes(start, "little"), dtype=np.uint64)
    if not parts:
        return state
    lengths = np.fromiter((len(part) for part in parts), dtype=np.int64, count=len(parts))
    if lengths.max() > LONGEST_HASHED_IN_PLACE:
        parts = [_shorten(part) for part in parts]
        lengths = np.fromiter((len(part) for part in parts), dtype=np.int64, count=len(parts))
    width = int(lengths.max())
    table = np.array(parts, dtype=f"S{max(width, 1)}").view(np.uint8).reshape(len(parts), -1)
    prime = np.uint64(0x100000001B3)
    for place in range(width):
        mixed = (state ^ table[:, place]) * prime
        state = np.where(place < lengths, mixed, state)
    return _mix(state)


def uniforms(ids: pl.Series, seed: int, purpose: str = "") -> NDArray[np.float64]:
    """Return one pseudo-random number in [0, 1) per identifier.

    Use it to draw a share of rows reproducibly: a row is drawn if its number is below the share.

    Parameters
    ----------
    ids : polars.Series of str, length n
        Identifiers.
    seed : int
        Random seed.
    purpose : str, default ""
        Name of the use, as in `row_keys`.

    Returns
    -------
    numpy.ndarray of float, shape (n,)
        The numbers.

    Examples
    --------
    >>> draws = uniforms(pl.Series([str(i) for i in range(10_000)]), seed=3)
    >>> bool(abs(draws.mean() - 0.5) < 0.02)
    True
    """
    return (row_keys(ids, seed, purpose) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _shorten(part: bytes) -> bytes:
    if len(part) <= LONGEST_HASHED_IN_PLACE:
        return part
    return hashlib.blake2b(part, digest_size=LONGEST_HASHED_IN_PLACE).digest()


def _mix(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    mixed = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def crossed_rows(
    frame: pl.DataFrame,
    n: int,
    unit: str,
    cross: Sequence[str],
    per: str,
    seed: int,
    least_cells: int,
    balance: Sequence[str] = (),
) -> NDArray[np.int64]:
    """Return the row numbers, ascending, of a crossed sample of at most n rows.

    All axes (`per`) use the same list of cells, so that they are comparable, too. A block is all rows of one axis in
    one cell. Blocks are taken whole, by cell and then by axis, as long as they fit in n.

    Order of the cells. With two crossed columns, the cells form a growing rectangle with about twice as many levels of
    the second column (nouns) as of the first (templates). Within a column, levels are ordered by a seeded hash. Levels
    that occur with the same units and agree in their `balance` columns (the gender of a noun) form a class. Classes
    alternate in proportion to their sizes, and each class occurs in the first round. Units that occur with some nouns
    only (a gendered descriptor) are therefore covered early, and a few nouns are not all of one gender.

    If n is too small for `least_cells` cells for all units, units are first left out evenly over the axes. A unit that
    occurs in none of the chosen cells is absent. This no longer happens if there are about as many cells as classes of
    nouns.

    Parameters
    ----------
    frame : polars.DataFrame
        The prompts.
    n : int
        Maximum number of rows.
    unit, cross, per : str, sequence of str, str
        Column of the compared groups, columns of the cells, and column within which groups are compared.
    seed : int
        Random seed.
    least_cells : int
        Minimum number of cells per unit, at least 1.
    balance : sequence of str
        Columns in which the chosen levels should vary. Columns that the frame lacks are ignored.

    Raises
    ------
    UsageError
        Not even one block fits, or least_cells is below 1.

    >>> grid = [(a, t, u) for a in "xy" for t in ("t1", "t2") for u in ("u1", "u2", "u3")]
    >>> frame = pl.DataFrame(grid, schema=["axis", "template", "unit"], orient="row")
    >>> rows = crossed_rows(frame, 7, "unit", ["template"], "axis", seed=0, least_cells=1)
    >>> frame[rows].group_by("axis").len()["len"].to_list()
    [3, 3]
    """
    if least_cells < 1:
        raise UsageError(f"least_cells must be at least 1, got {least_cells}.")
    if not cross:
        raise UsageError(
            "cross must name at least one column.", "Name the columns to cross, or use `sample`."
        )
    present = [column for column in balance if column in frame.columns]
    codes = frame.select(
        pl.int_range(pl.len()).alias("row"),
        *(pl.col(c).cast(pl.String).fill_null("").alias(f"cross{i}") for i, c in enumerate(cross)),
        pl.col(per).cast(pl.String).fill_null("").alias("per"),
        pl.col(unit).cast(pl.String).fill_null("").alias("unit"),
        *(pl.col(c).cast(pl.String).fill_null("").alias(f"balance{i}") for i, c in enumerate(present)),
    )
    codes = _limit_units(codes, n // least_cells, seed)
    columns = [f"cross{i}" for i in range(len(cross))]
    ranks = {column: _level_order(codes, column, seed) for column in columns}
    for column, order in ranks.items():
        codes = codes.join(order, on=column)
    places = [pl.col(f"{column}_rank") for column in columns]
    stage = pl.max_horizontal(*(2 * place for place in places[:-1]), places[-1])
    axes = codes.select(pl.col("per").unique())
    axes = axes.with_columns(axis_key=row_keys(axes["per"], seed, "axis order"))
    blocks = (
        codes.with_columns(stage=stage)
        .group_by("stage", *(f"{column}_rank" for column in columns), "per")
        .agg(pl.len().alias("size"))
        .join(axes, on="per")
        .sort("stage", *(f"{column}_rank" for column in columns), "axis_key", "per")
    )
    fits = blocks["size"].cum_sum() <= n
    if not fits[0]:
        raise UsageError(
            f"A sample of {n} prompts is too small: prompts are sampled in blocks with the same {' and '.join(cross)}, "
            f"and the first block of '{blocks['per'][0]}' has {blocks['size'][0]} prompts.",
            f"Sample at least {blocks['size'][0]} prompts (in an audit: --limit {blocks['size'][0]}), or select fewer "
            "axes.",
        )
    kept = blocks.filter(fits).select("per", *(f"{column}_rank" for column in columns))
    return codes.join(kept, on=kept.columns, how="semi")["row"].sort().to_numpy()


def _limit_units(codes: pl.DataFrame, most_units: int, seed: int) -> pl.DataFrame:
    """Return the rows of at most `most_units` units, which are taken alternately from the axes."""
    units = codes.select("per", "unit").unique()
    if units.height <= most_units:
        return codes
    label = units["per"] + "\x1f" + units["unit"]
    kept = (
        units.with_columns(
            key=row_keys(label, seed, "unit"), axis_key=row_keys(units["per"], seed, "axis order")
        )
        .sort("key", "unit")
        .with_columns(turn=pl.int_range(pl.len()).over("per"))
        .sort("turn", "axis_key", "per")
        .head(max(most_units, 1))
    )
    return codes.join(kept.select("per", "unit"), on=["per", "unit"], maintain_order="left")


def _level_order(codes: pl.DataFrame, column: str, seed: int) -> pl.DataFrame:
    """Return each level of a crossed column with its position in the order that `crossed_rows` describes."""
    pairs = codes.select("per", "unit", column).unique()
    label = pairs["per"] + "\x1f" + pairs["unit"]
    # the sum of the hashes of its units identifies the set of units with which a level occurs
    signature = pairs.with_columns(part=row_keys(label, 0, "signature") >> np.uint64(16))
    levels = signature.group_by(column).agg(pl.col("part").sum(), pl.len().alias("units"))
    kinds = [pl.col(c) for c in codes.columns if c.startswith("balance")]
    # a balance column that varies within a level (the gender within a template) does not describe the level
    constant = [pl.when(kind.n_unique() == 1).then(kind.first()).fill_null("").name.keep() for kind in kinds]
    levels = levels.join(codes.group_by(column).agg(constant), on=column)
    same = ["part", "units", *(kind.meta.output_name() for kind in kinds)]
    levels = levels.with_columns(key=row_keys(levels[column], seed, column))
    return (
        levels.sort("key", column)
        .with_columns(turn=pl.int_range(pl.len()).over(same), members=pl.len().over(same))
        .with_columns(due=(pl.col("turn") + 0.5) / pl.col("members"), later=pl.col("turn") > 0)
        .sort("later", "due", "key", column)
        .select(column, pl.int_range(pl.len()).alias(f"{column}_rank"))
    )
