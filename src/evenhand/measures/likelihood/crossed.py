"""One axis as a table crossed by template, noun and descriptor."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from evenhand.schema import DataError
from evenhand.stats import Floats

LARGEST_CROSSING = 200_000_000  # cells; 1.6 GB, thirty times the largest published axis


@dataclass(frozen=True)
class Crossing:
    """Numbers of one axis, `values[t, n, d]`, for template t, noun n and descriptor d; NaN if missing."""

    axis: str
    templates: list[str]
    nouns: list[str]
    descriptors: list[str]
    values: Floats


def crossings(frame: pl.DataFrame, value: str) -> Iterator[Crossing]:
    """Yield the crossing of each axis of `frame`, sorted by axis.

    `frame` has the columns axis, template, noun, descriptor and `value`. Rows with equal axis, template, noun and
    descriptor are averaged, without null and NaN. Raises DataError if the crossing is too large for memory.

    >>> frame = pl.DataFrame({"axis": "a", "template": "t", "noun": "n", "descriptor": "d", "x": [2.0]})
    >>> next(crossings(frame, "x")).values.tolist()
    [[[2.0]]]
    """
    keys = ["template", "noun", "descriptor"]
    for name in ["axis", *keys]:
        if frame[name].null_count():
            raise DataError(
                f"The column {name} is empty in {frame[name].null_count():,} rows.",
                "Fill in or remove these rows.",
            )
    for (axis,), rows in frame.sort("axis").group_by("axis", maintain_order=True):
        labels = {name: rows[name].cast(pl.String).unique().sort() for name in keys}
        shape = tuple(len(labels[name]) for name in keys)
        if np.prod(shape, dtype=np.float64) > LARGEST_CROSSING:
            raise DataError(
                f"Axis {axis!r} has too many combinations: {shape[0]} templates x {shape[1]} nouns x {shape[2]} "
                "descriptors.",
                "Check the column noun: it must contain the few nouns that all descriptors share, not the whole "
                "text.",
            )
        codes = [
            rows[name].cast(pl.String).cast(pl.Enum(labels[name])).to_physical().to_numpy().astype(np.intp)
            for name in keys
        ]
        cell = np.ravel_multi_index(codes, shape)
        number = rows[value].cast(pl.Float64).fill_null(float("nan")).to_numpy()
        known = np.isfinite(number)
        size = int(np.prod(shape))
        counts = np.bincount(cell[known], minlength=size)
        sums = np.bincount(cell[known], weights=number[known], minlength=size)
        means = np.full(size, np.nan)
        np.divide(sums, counts, out=means, where=counts > 0)
        yield Crossing(
            axis=str(axis),
            templates=labels["template"].to_list(),
            nouns=labels["noun"].to_list(),
            descriptors=labels["descriptor"].to_list(),
            values=means.reshape(shape),
        )
