"""Replies of one template by descriptor: means of their style probabilities and the noise of these means."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class StyleCells:
    """Complete replies of one template, sorted by descriptor: `values` (n, styles), `codes` (n,) from 0."""

    descriptors: list[tuple[str, ...]]
    codes: npt.NDArray[np.intp]
    values: Floats


def style_cells(frame: pl.DataFrame, styles: Sequence[str]) -> list[StyleCells]:
    """One StyleCells for each template with at least two descriptors; incomplete replies are left out.

    A descriptor of two axes ("queer") is two descriptors.
    """
    keys = [name for name in ("axis", "descriptor") if name in frame.columns]
    probabilities = frame.select("template", *keys, pl.col(styles).cast(pl.Float64))
    complete = probabilities.filter(pl.all_horizontal(pl.col(styles).is_finite().fill_null(False)))
    found = []
    for _, part in complete.sort("template").group_by("template", maintain_order=True):
        ordered = part.sort(keys)
        codes = ordered.select(pl.struct(keys).rle_id()).to_series().to_numpy().astype(np.intp)
        if codes[-1] > 0:
            names = [
                tuple(map(str, row)) for row in ordered.select(keys).unique(maintain_order=True).iter_rows()
            ]
            found.append(StyleCells(names, codes, ordered.select(styles).to_numpy()))
    return found


def cell_moments(cell: StyleCells) -> tuple[Floats, Floats]:
    """Means (descriptors, styles), and the noise variance of such a mean (styles,), averaged over descriptors.

    A descriptor with a single reply is taken to scatter as the others of its template do on average. The noise
    is NaN if all have a single one.
    """
    size = np.bincount(cell.codes).astype(np.float64)
    means = _sums(cell.values, size) / size[:, None]
    squares = _sums(np.square(cell.values - means[cell.codes]), size)
    freedom = float(np.sum(size - 1))
    if freedom == 0:
        return means, np.full(cell.values.shape[1], np.nan)
    common = squares.sum(axis=0) / freedom
    own = squares / np.maximum(size - 1, 1)[:, None]
    within = np.where((size > 1)[:, None], own, common)
    return means, np.asarray((within / size[:, None]).mean(axis=0))


def shuffled_means(cell: StyleCells, generator: np.random.Generator) -> Floats:
    """Means (descriptors, styles) when the replies of the template are dealt to its descriptors at random."""
    size = np.bincount(cell.codes).astype(np.float64)
    return np.asarray(_sums(cell.values[generator.permutation(len(cell.values))], size) / size[:, None])


def _sums(values: Floats, size: Floats) -> Floats:
    starts = np.concatenate([[0], np.cumsum(size)[:-1]]).astype(np.intp)
    return np.asarray(np.add.reduceat(values, starts, axis=0))
