"""The order in which terms are counted: terms of a group are adjacent, so that one sort serves all levels."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evenhand.corpus.counting.options import DESCRIPTOR, PERSON_KINDS
from evenhand.corpus.terms import TermTable


class Order:
    """Ranks of a table's terms, sorted by kind, axis and group, with the properties that counting needs."""

    def __init__(self, table: TermTable):
        terms = table.terms.sort("kind", "axis", "group", "term", nulls_last=False)
        self.size = terms.height
        self.term = terms["term"].to_numpy()
        """(size,) term of each rank."""
        self.bits = max(self.size - 1, 1).bit_length()
        """Number of bits of a rank."""
        rank = np.zeros(self.size, dtype=np.int64)
        rank[self.term] = np.arange(self.size)
        self.of_surface = rank[table.surfaces["term"].to_numpy()]
        """(surfaces,) rank of the term of each surface."""
        self.exact = (~table.surfaces["inflected"].to_numpy()).view(np.uint8)
        """(surfaces,) 1 if the surface is listed in this form, 0 if it is an inflection."""
        self.kinds = terms["kind"].unique(maintain_order=True).to_list()
        self.kind = (
            terms["kind"].replace_strict(self.kinds, range(len(self.kinds)), return_dtype=pl.Int64).to_numpy()
        )
        """(size,) index in `kinds` of each rank."""
        self.person = terms["kind"].is_in(PERSON_KINDS).to_numpy()
        """(size,) whether a hit of the term refers to a person."""
        naming = (terms["kind"] == DESCRIPTOR) & ~terms["ambiguous"]
        self.names_people = table.surfaces["inflected"].to_numpy() & naming.to_numpy()[self.of_surface]
        """(surfaces,) whether the surface itself names people: "Californians", from a descriptor
        without other senses.
        """
        self.groups = terms.select("kind", "axis", "group").unique(maintain_order=True)
        self.axes = terms.select("kind", "axis").unique(maintain_order=True)
        self.group = _number_runs(terms.select("kind", "axis", "group"))
        """(size,) row of `groups` of each rank, ascending."""
        self.axis = _number_runs(terms.select("kind", "axis"))
        """(size,) row of `axes` of each rank, ascending."""
        self.group_again = _mark_repeated(table, "kind", "axis", "group")
        """(surfaces,) True if an earlier surface of the same group has the same spelling. A hit in a text is then
        counted only once for the group.
        """
        self.axis_again = _mark_repeated(table, "kind", "axis")
        """(surfaces,) True if an earlier surface of the same axis has the same spelling."""
        spelt = table.surfaces.select("text", rank=pl.Series(self.of_surface)).unique()
        both = spelt.join(spelt, on="text").filter(pl.col("rank") < pl.col("rank_right"))
        self.one_spelling = np.unique((both["rank"] * self.size + both["rank_right"]).to_numpy())
        """Codes first * size + second of two ranks with a common spelling."""


def _mark_repeated(table: TermTable, *level: str) -> NDArray[np.bool_]:
    """Return whether an earlier surface of the same group or axis has the same text, shape (surfaces,)."""
    surfaces = table.surfaces.join(table.terms.select("term", *level), on="term", maintain_order="left")
    again = surfaces.select(pl.int_range(pl.len()).over("text", *level) > 0).to_series()
    return again.to_numpy()


def _number_runs(columns: pl.DataFrame) -> NDArray[np.int64]:
    changed = columns.select(pl.struct(pl.all()).rle_id()).to_series()
    return changed.cast(pl.Int64).to_numpy()
