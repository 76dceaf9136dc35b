"""Keys and values of one layer in buffers with spare columns, so that rows can be added and
removed without full copies.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import DynamicCache, DynamicLayer

SPARE = 16  # columns; a full buffer is copied once per this number of tokens


class KeyValueBuffer(DynamicLayer):  # type: ignore[no-untyped-call]
    """Keys and values, (rows, heads, columns, width); the last column is the newest token of every row.

    The standard layer of transformers copies all states for every token. This one writes in place, and copies only when
    its spare columns are used up or rows are selected. Columns that no row needs are dropped from the front, so that
    rows can be added and removed without limit.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.buffers: list[Tensor] = []
        self.first = self.end = 0  # columns in use
        self.kept: Tensor | None = None  # (rows, new): columns that the next update must not overwrite

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> Any:
        """Append states, (rows, heads, new, width), and return all states."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        new = key_states.shape[-2]
        if not self.buffers:
            self.buffers = [_room(states, len(states), new + SPARE) for states in (key_states, value_states)]
        elif self.end + new > self.buffers[0].shape[-2]:
            self.lay_out(spare=new + SPARE)
        for buffer, states in zip(self.buffers, (key_states, value_states), strict=True):
            place = buffer[:, :, self.end : self.end + new]
            place.copy_(
                states if self.kept is None else torch.where(self.kept[:, None, :, None], place, states)
            )
        self.kept = None
        self.end += new
        self._show()
        return self.keys, self.values

    def lay_out(
        self, rows: Tensor | None = None, *, more: int = 0, lead: int = 0, spare: int = SPARE
    ) -> None:
        """Copy the used part into new buffers.

        rows: indices of the rows in their new order; None: all. more: number of rows to add after them. lead: number of
        columns to add in front. Both have arbitrary contents until `overwrite_rows` fills them. spare: number of
        columns to leave free at the end.
        """
        if not self.buffers:
            return
        laid = []
        for buffer in self.buffers:
            old = buffer[:, :, self.first : self.end]
            rows_left = old if rows is None else old.index_select(0, rows)
            room = _room(buffer, len(rows_left) + more, lead + old.shape[2] + spare)
            room[: len(rows_left), :, :lead] = 0
            room[: len(rows_left), :, lead : lead + old.shape[2]] = rows_left
            laid.append(room)
        self.first, self.end = 0, lead + self.end - self.first
        self.buffers = laid
        self._show()

    def overwrite_rows(self, places: Tensor, keys: Tensor, values: Tensor) -> None:
        """Overwrite complete rows with keys and values, (rows, heads, columns, width), which end at
        the newest column.
        """
        for buffer, states in zip(self.buffers, (keys, values), strict=True):
            shown = buffer[:, :, self.first : self.end]
            # columns in front are masked, but a masked NaN from another row would still spread
            shown.index_fill_(0, places, 0)
            shown[:, :, shown.shape[2] - states.shape[2] :].index_copy_(0, places, states)

    def write_beginnings(
        self, rows: Tensor, columns: Tensor, states: tuple[Tensor, Tensor], kept: Tensor
    ) -> None:
        """Write states, (tokens, heads, width), into an empty buffer, also into columns of the next update.

        rows, columns: (tokens,) positions of the states. kept: (rows, new), True for columns of the next update that it
        must not overwrite.
        """
        for buffer, written in zip(self.buffers, states, strict=True):
            buffer[:, :, : self.end] = 0  # columns in front are masked, but a masked NaN would still spread
            buffer[rows, :, columns] = written
        self.end -= kept.shape[1]
        self.kept = kept
        self._show()

    def begin_rows(
        self,
        states: Sequence[tuple[Tensor, Tensor] | None],
        counts: Sequence[int],
        ends: Sequence[int],
        kept: Tensor,
    ) -> None:
        """Do the same as `write_beginnings` with separate states per row: the first counts[i], up to column ends[i].

        states: for each row, (heads, tokens, width), or None for a row without kept tokens.
        """
        for k, buffer in enumerate(self.buffers):
            for row, pair, count, end in zip(buffer, states, counts, ends, strict=True):
                first = end - count
                row[:, :first] = 0
                row[:, end:] = 0
                if pair is not None:
                    row[:, first:end] = pair[k][:, :count]
        self.end -= kept.shape[1]
        self.kept = kept
        self._show()

    def drop_columns(self, count: int) -> None:
        """Remove this number of the oldest columns."""
        if self.buffers:
            self.first += count
            self._show()

    def batch_select_indices(self, indices: Tensor) -> None:
        """Keep these rows, in this order; a row may occur several times."""
        self.lay_out(indices)

    def take_over(self, places: Tensor, rows: Tensor, columns: int) -> None:
        """Overwrite the newest columns of some rows with those of others, as they were before the call."""
        for buffer in self.buffers:
            newest = buffer[:, :, max(self.first, self.end - columns) : self.end]
            newest.index_copy_(0, places, newest.index_select(0, rows))

    def _show(self) -> None:
        self.keys, self.values = (buffer[:, :, self.first : self.end] for buffer in self.buffers)


def buffered_cache() -> DynamicCache:
    """Return an empty cache whose layers are buffers."""
    cache = DynamicCache()
    cache.layer_class_to_replicate = KeyValueBuffer
    return cache


def cache_of_rows(like: Sequence[tuple[Tensor, Tensor] | None], rows: int, columns: int) -> DynamicCache:
    """Return an empty buffered cache with room for `rows`.

    like: keys and values with the same shape except rows and columns; None for a layer that shares those of another.
    """
    cache = buffered_cache()
    for pair in like:
        buffer = KeyValueBuffer()
        if pair is not None:
            buffer.lazy_initialization(*pair)
            buffer.buffers = [_room(states, rows, columns + SPARE) for states in pair]
            buffer.end = columns
            buffer._show()
        cache.layers.append(buffer)
    return cache


def _room(like: Tensor, rows: int, columns: int) -> Tensor:
    return torch.empty((rows, like.shape[1], columns, like.shape[3]), dtype=like.dtype, device=like.device)
