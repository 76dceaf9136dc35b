"""Arrange replies by descriptor, template and noun: averaged as published, and as prompts in complete crossings.

A prompt is a descriptor in a template with a noun. Samples of one prompt are correlated and averaged first.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from evenhand.stats import Floats, Indices
from evenhand.stats.contrasts import LARGEST_ABSENT_SHARE

_KEYS = ("axis", "descriptor")
_WORTH_CROSSING = 0.5
"""Share of present prompts below which nouns are not crossed; they then belong to descriptors."""


@dataclass(frozen=True)
class StyleCells:
    """Complete replies of one template, sorted by descriptor: `values` (n, styles), `codes` (n,) from 0."""

    descriptors: list[tuple[str, ...]]
    codes: Indices
    values: Floats

    @property
    def means(self) -> Floats:
        """Return the means over replies, shape (descriptors, styles)."""
        size = np.bincount(self.codes).astype(np.float64)
        starts = np.concatenate([[0], np.cumsum(size)[:-1]]).astype(np.intp)
        return np.asarray(np.add.reduceat(self.values, starts, axis=0) / size[:, None])


def complete_replies(frame: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """Return the rows in which all of these columns are finite numbers, cast to Float64."""
    keys = [name for name in (*_KEYS, "template", "noun") if name in frame.columns]
    numbers = frame.select(*keys, pl.col(columns).cast(pl.Float64))
    return numbers.filter(pl.all_horizontal(pl.col(columns).is_finite().fill_null(False)))


def style_cells(frame: pl.DataFrame, styles: Sequence[str]) -> list[StyleCells]:
    """Return one StyleCells for each template with at least two descriptors, without incomplete replies.

    A descriptor of two axes ("queer") counts as two descriptors.
    """
    keys = [name for name in _KEYS if name in frame.columns]
    cells = []
    complete = complete_replies(frame, styles)
    for _, part in complete.sort("template").group_by("template", maintain_order=True):
        ordered = part.sort(keys)
        codes = ordered.select(pl.struct(keys).rle_id()).to_series().to_numpy().astype(np.intp)
        if codes[-1] > 0:
            names = [
                tuple(map(str, row)) for row in ordered.select(keys).unique(maintain_order=True).iter_rows()
            ]
            cells.append(StyleCells(names, codes, ordered.select(styles).to_numpy()))
    return cells


@dataclass(frozen=True)
class CrossedPrompts:
    """Prompts of descriptors that occur in the same templates and with the same nouns, averaged over samples.

    Attributes
    ----------
    descriptors : polars.DataFrame
        One row per descriptor, in order.
    templates, nouns : list
        Names. `nouns` is [None] without a crossing with nouns.
    left_out
        Descriptors, templates or nouns that were left out because most of their prompts have no reply.
    """

    descriptors: pl.DataFrame
    templates: list[str]
    nouns: list[str | None]
    left_out: int
    _table: pl.DataFrame
    _places: tuple[Indices, Indices, Indices]

    @property
    def shape(self) -> tuple[int, int, int]:
        """Return the numbers of descriptors, templates and nouns."""
        return self.descriptors.height, len(self.templates), len(self.nouns)

    @property
    def filled(self) -> int:
        """Return the number of prompts without a reply, which are filled in from template and noun."""
        return int(np.prod(self.shape)) - self._table.height

    def values(self, columns: Sequence[str]) -> Floats:
        """Return the sum of these columns (descriptors, templates, nouns); NaN for prompts without a reply."""
        array = np.full(self.shape, np.nan)
        array[self._places] = self._table.select(pl.sum_horizontal(columns)).to_series().to_numpy()
        return array


def crossed_prompts(frame: pl.DataFrame, columns: Sequence[str]) -> CrossedPrompts:
    """Return the replies as a table of descriptors by templates by nouns, in which at most 10% of prompts are missing.

    Levels with many missing prompts are left out until this holds.

    Parameters
    ----------
    frame : polars.DataFrame
        One row per reply with ``descriptor``, ``template``, optionally ``axis`` and ``noun``, and the columns named by
        `columns`.
    columns : sequence of str
        Columns with numbers. Replies that lack one of them are left out.

    Returns
    -------
    CrossedPrompts
        The crossed table. If nouns are not crossed with descriptors, it averages over nouns.
    """
    complete = complete_replies(frame, columns)
    if "noun" in complete.columns and complete["noun"].null_count() == 0 and complete.height:
        crossed = _cross_prompts(complete, columns, ["template", "noun"])
        prompts = complete.select(pl.struct(pl.exclude(columns)).n_unique()).item()
        if crossed._table.height >= _WORTH_CROSSING * prompts:
            return crossed
    return _cross_prompts(complete, columns, ["template"])


def _cross_prompts(complete: pl.DataFrame, columns: Sequence[str], samples: list[str]) -> CrossedPrompts:
    keys = [name for name in _KEYS if name in complete.columns]
    table = complete.group_by(*keys, *samples).agg(pl.col(columns).mean()).sort(*keys, *samples)
    if "noun" not in samples:
        table = table.with_columns(noun=pl.lit(None, pl.String))
    levels = [keys, ["template"], ["noun"]]
    names = [table.select(level).unique().sort(level) for level in levels]
    codes = [
        table.select(pl.struct(level).rank("dense")).to_series().to_numpy().astype(np.intp) - 1
        for level in levels
    ]
    known = np.zeros(tuple(name.height for name in names), dtype=bool)
    known[tuple(codes)] = True
    kept = _levels_to_keep(known)
    inside = np.logical_and.reduce([keep[code] for keep, code in zip(kept, codes, strict=True)])
    places = tuple((np.cumsum(keep) - 1)[code[inside]] for keep, code in zip(kept, codes, strict=True))
    chosen = [name.filter(pl.Series(keep)) for name, keep in zip(names, kept, strict=True)]
    return CrossedPrompts(
        descriptors=chosen[0],
        templates=chosen[1]["template"].cast(pl.String).to_list(),
        nouns=chosen[2]["noun"].cast(pl.String).to_list(),
        left_out=sum(int((~keep).sum()) for keep in kept),
        _table=table.filter(pl.Series(inside)),
        _places=(places[0], places[1], places[2]),
    )


def _levels_to_keep(known: npt.NDArray[np.bool_]) -> list[npt.NDArray[np.bool_]]:
    """Return the levels that are kept; the level with the most missing cells is removed until few are missing."""
    kept = [np.ones(size, dtype=bool) for size in known.shape]
    while True:
        inside = known[np.ix_(*kept)]
        if inside.size == 0 or 1.0 - inside.mean() <= LARGEST_ABSENT_SHARE:
            return kept
        axes = ((1, 2), (0, 2), (0, 1))
        shares = [1.0 - inside.mean(axis=others) for others in axes]
        worst = max(range(3), key=lambda axis: float(shares[axis].max()))
        kept[worst][np.flatnonzero(kept[worst])[int(shares[worst].argmax())]] = False
