"""What many prompts begin with, read once: its keys and values, from which any number of rows go on."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import DynamicCache


@dataclass(frozen=True)
class Beginnings:
    """Token sequences that have been read, ending at the same column.

    layers: keys and values, (beginnings, heads, columns, width); None where a layer shares those of another. seen:
    (beginnings, columns), 1 where there is a token.
    """

    layers: list[tuple[Tensor, Tensor] | None]
    seen: Tensor

    @classmethod
    def of(cls, cache: Any, seen: Tensor) -> "Beginnings":
        """What a cache holds after they were read."""
        empty = (seen == 0)[:, None, :, None]
        # What stands for no token is masked, but a masked NaN would still spread.
        return cls(
            [
                (layer.keys.masked_fill(empty, 0), layer.values.masked_fill(empty, 0))
                if layer.is_initialized
                else None
                for layer in cache.layers
            ],
            seen,
        )

    def caches(self, rows: Tensor) -> DynamicCache:
        """A cache in which row i goes on from beginning rows[i]."""
        cache = DynamicCache()
        for number, layer in enumerate(self.layers):
            if layer is not None:
                cache.update(layer[0][rows], layer[1][rows], number)
        return cache


def moved_right(cache: Any, seen: Tensor, shift: Tensor) -> Tensor:
    """Move the columns of each row to the right by so many, dropping the last; returns where there are tokens now."""
    if not shift.any():
        return seen
    rows = torch.arange(len(seen), device=seen.device)[:, None]
    columns = torch.arange(seen.shape[1], device=seen.device) - shift[:, None]
    outside, columns = columns < 0, columns.clamp(min=0)
    for layer in cache.layers:
        if layer.is_initialized:
            layer.keys = layer.keys[rows, :, columns].transpose(1, 2)
            layer.values = layer.values[rows, :, columns].transpose(1, 2)
    return seen[rows, columns].masked_fill(outside, 0)
