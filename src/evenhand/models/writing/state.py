"""The state of rows that are generated in parallel: prompts are read once and branched; rows advance, leave and join.

The common beginnings of many prompts can also be read once (`Beginnings`).
"""

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers.cache_utils import DynamicCache, EncoderDecoderCache

from evenhand.models.writing.key_values import buffered_cache, cache_of_rows
from evenhand.schema import Unsupported


@dataclass(frozen=True)
class Beginnings:
    """Token sequences that have been read and end at the same column.

    layers: keys and values, (beginnings, heads, columns, width); None for a layer that shares those of another. seen:
    (beginnings, columns), 1 where there is a token.
    """

    layers: list[tuple[Tensor, Tensor] | None]
    seen: Tensor

    @classmethod
    def from_cache(cls, cache: Any, seen: Tensor) -> "Beginnings":
        """Return the beginnings in a cache after they were read."""
        empty = (seen == 0)[:, None, :, None]
        # columns without a token are masked, but a masked NaN would still spread
        return cls(
            [
                (layer.keys.masked_fill(empty, 0), layer.values.masked_fill(empty, 0))
                if layer.is_initialized
                else None
                for layer in cache.layers
            ],
            seen,
        )

    def input_for_tails(self, tails: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor, Any]:
        """Return the model's input for reading tails, tail i after beginning i (modulo their number).

        Returns the tails, padded in front, (tails, longest); a mask of tokens, (tails, columns); and a cache in which
        every beginning ends where its tail begins. All rows therefore end at the same column, and no row has a gap,
        because windows and linear biases count columns. There are as many columns as the longest row has tokens.
        """
        device, held = self.seen.device, self.seen.shape[1]
        ids, read = pad_rows(tails, device, left=True)
        of = torch.arange(len(tails), device=device) % len(self.seen)
        lengths, new = self.seen.sum(1)[of], read.sum(1)
        width = int((lengths + new).max())
        source = torch.arange(held - width, held, device=device) + new[:, None]
        begun = (source < held) & (source >= held - lengths[:, None])
        rows, columns = begun.nonzero(as_tuple=True)
        beginnings, sources = of[rows], source[rows, columns]
        cache: Any = cache_of_rows(self.layers, len(tails), width)
        for layer, states in zip(cache.layers, self.layers, strict=True):
            if states is not None:
                keys, values = (part[beginnings, :, sources] for part in states)
                layer.write_beginnings(rows, columns, (keys, values), kept=begun[:, width - ids.shape[1] :])
        seen = begun.long()
        seen[:, width - ids.shape[1] :] |= read
        return ids, seen, cache


class ReadBefore(Protocol):
    """Interface of text before some tails that has been read: `Beginnings`, or `ComputedPrefixRows` kept from
    an earlier call.
    """

    def input_for_tails(self, tails: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor, Any]:
        """Return the model's input for reading the tails (see `Beginnings.input_for_tails`)."""
        ...


class DecoderState(Protocol):
    """Interface of a model's state during generation; logits are those of the next token, (rows, vocabulary), in 32
    bits.

    `name`: type of cache, for reports. `staggers`: whether rows may join while others are unfinished. `pads`: whether
    rows of different lengths may start together. `tokens_read`: number of tokens in all rows that the last `join` read.
    """

    name: str
    model: Any
    device: torch.device
    staggers: bool
    pads: bool
    tokens_read: int

    def clear(self) -> None:
        """Remove all rows."""
        ...

    def join(self, prompts: Sequence[Any], branch: Tensor, places: Tensor) -> Tensor:
        """Read the prompts (token ids) once each; a row that continues prompt branch[i] gets the place places[i].

        Places are those of finished rows, or follow the last row. Without `staggers`, there must be no rows, and the
        places are 0, 1, 2, ... Returns the logits of the rows that joined, in their order.
        """
        ...

    def finish(self, places: Tensor) -> None:
        """Mark these rows as finished. They only fill their places until they are removed or replaced."""
        ...

    def select(self, rows: Tensor) -> None:
        """Continue with these rows, in this order; a row may occur several times."""
        ...

    def exchange(self, rows: Tensor, newest: int) -> None:
        """Continue row i from row rows[i]; the two differ at most in the newest `newest` tokens."""
        ...

    def advance(self, tokens: Tensor) -> Tensor:
        """Append one token to every row."""
        ...


class CausalState:
    """Cache of keys and values of a decoder-only model, one row per continuation.

    All rows end at the same, newest column. Columns before the first token of a row are masked. Distances between
    tokens are thus correct for sliding windows and linear biases, and a row can join at any time.
    """

    name, pads = "keys and values", True

    def __init__(self, model: Any):
        self.model = model
        self.device = model.get_input_embeddings().weight.device
        takes = inspect.signature(model.forward).parameters
        if "past_key_values" not in takes:
            raise Unsupported(
                f"{type(model).__name__} has no cache of keys and values to continue from, so it cannot generate "
                "text here.",
                "Instead, its rows are computed again for every token.",
            )
        self.with_positions = "position_ids" in takes
        self.last_only = {"logits_to_keep": 1} if "logits_to_keep" in takes else {}
        self.staggers, self.tokens_read = True, 0
        self.clear()

    def clear(self) -> None:
        """Remove all rows."""
        self.cache: Any = None
        self.seen = torch.zeros(0, 0, dtype=torch.long, device=self.device)  # (rows, columns)

    def join(self, prompts: Sequence[Sequence[int]], branch: Tensor, places: Tensor) -> Tensor:
        """Read the prompts; the head is evaluated at their last tokens only."""
        ids, seen = pad_rows(prompts, self.device, left=True)
        read = buffered_cache()
        logits = self._forward(ids, seen, read)
        self._store_rows(read, seen, branch, places)
        self.tokens_read = sum(map(len, prompts))
        return logits[branch]

    def beginnings(self, sequences: Sequence[Sequence[int]]) -> Beginnings:
        """Read what many prompts begin with, each once, side by side; some may be empty."""
        ids, seen = pad_rows(sequences, self.device, left=True)
        read: Any = DynamicCache()
        if ids.shape[1]:
            self._forward(ids, seen, read)
        return Beginnings.from_cache(read, seen)

    def join_behind(
        self, beginnings: ReadBefore, tails: Sequence[Sequence[int]], branch: Tensor, places: Tensor
    ) -> Tensor:
        """Do the same as `join` for prompts whose beginnings are already in the cache. At least one token must remain
        to be read.
        """
        ids, seen, read = beginnings.input_for_tails(tails)
        logits = self._forward(ids, seen, read)
        self._store_rows(read, seen, branch, places)
        self.tokens_read = sum(map(len, tails))
        return logits[branch]

    def row(self, place: int, tokens: int) -> list[tuple[Tensor, Tensor] | None]:
        """Return a copy of a row's keys and values, (heads, tokens, width) per layer. `tokens` is their number."""
        newest = slice(-tokens, None)
        return [
            (layer.keys[place, :, newest].clone(), layer.values[place, :, newest].clone())
            if layer.is_initialized
            else None
            for layer in self.cache.layers
        ]

    def select(self, rows: Tensor) -> None:
        """Keep only these rows."""
        self.cache.batch_select_indices(rows)
        self.seen = self.seen[rows]
        self._drop_columns_nobody_needs()

    def exchange(self, rows: Tensor, newest: int) -> None:
        """Copy only the newest columns."""
        _exchange(self.cache, rows, newest)

    def advance(self, tokens: Tensor) -> Tensor:
        """Append one token to every row."""
        self._drop_columns_nobody_needs()
        self.seen = torch.cat([self.seen, self.seen.new_ones(len(self.seen), 1)], dim=1)
        return self._forward(tokens[:, None], self.seen, self.cache)

    def finish(self, places: Tensor) -> None:
        """Mark rows as finished, so that their memory can be freed."""
        self.seen[places, :-1] = 0

    def _store_rows(self, read: Any, seen: Tensor, branch: Tensor, places: Tensor) -> None:
        """Put rows that have been read, each ending at the last column, in their places."""
        everything = list(range(len(seen)))
        if self.cache is None and branch.tolist() == places.tolist() == everything:
            self.cache, self.seen = read, seen
            return
        self._make_room(read, seen.shape[1], int(places.max()) + 1)
        for layer, source in zip(self.cache.layers, read.layers, strict=True):
            if source.is_initialized:  # some layers share the keys and values of another layer
                layer.overwrite_rows(places, source.keys[branch], source.values[branch])
        self.seen[places] = 0
        self.seen[places, self.seen.shape[1] - seen.shape[1] :] = seen[branch]

    def _make_room(self, read: Any, columns: int, rows: int) -> None:
        held, width = self.seen.shape
        if self.cache is None:
            layers = [(layer.keys, layer.values) if layer.is_initialized else None for layer in read.layers]
            self.cache = cache_of_rows(layers, rows, columns)
        elif rows > held or columns > width:
            for layer in self.cache.layers:
                layer.lay_out(more=max(0, rows - held), lead=max(0, columns - width))
        grown = self.seen.new_zeros(max(rows, held), max(columns, width))
        grown[:held, grown.shape[1] - width :] = self.seen
        self.seen = grown

    def _drop_columns_nobody_needs(self) -> None:
        idle = int(self.seen.any(0).int().argmax())
        if idle:
            self.seen = self.seen[:, idle:]
            for layer in self.cache.layers:
                layer.drop_columns(idle)

    def inputs(self, ids: Tensor, seen: Tensor, cache: Any) -> dict[str, Any]:
        """Return the model's input for reading new tokens (rows, new) after a cache.

        `seen` (rows, cached and new columns) is 1 where there is a token.
        """
        inputs: dict[str, Any] = {"input_ids": ids, "attention_mask": seen, "past_key_values": cache}
        if self.with_positions:
            # padding does not count, so the first real token of every row is at position 0
            inputs["position_ids"] = (seen.cumsum(1) - 1).clamp(min=0)[:, -ids.shape[1] :]
        return inputs

    def _forward(self, ids: Tensor, seen: Tensor, cache: Any) -> Tensor:
        output = self.model(**self.inputs(ids, seen, cache), use_cache=True, **self.last_only)
        logits: Tensor = output.logits[:, -1].float()
        return logits


class EncoderDecoderState:
    """Cache of an encoder-decoder model, whose encoder reads each prompt once.

    Its decoders count positions from the first column (BART, T5), so all rows start together.
    """

    name, staggers, pads = "keys and values", False, True

    def __init__(self, model: Any, start: int):
        self.model, self.first_token, self.tokens_read = model, start, 0
        self.device = model.get_input_embeddings().weight.device

    def clear(self) -> None:
        """Remove all rows."""
        self.cache = EncoderDecoderCache(buffered_cache(), DynamicCache())

    def join(self, prompts: Sequence[Sequence[int]], branch: Tensor, places: Tensor) -> Tensor:
        """Read the prompts and write the token that decoding starts from."""
        assert places.tolist() == list(range(len(branch))), "rows of an encoder-decoder model begin together"
        self.clear()
        ids, self.seen = pad_rows(prompts, self.device, left=False)
        self.tokens_read = sum(map(len, prompts))
        encoder = self.model.get_encoder()
        # pass on the encoder's output unchanged, because some decoders use more of it than hidden states
        self.read = encoder(input_ids=ids, attention_mask=self.seen)
        logits = self.advance(torch.full((len(prompts),), self.first_token, device=self.device))
        if branch.tolist() != list(range(len(prompts))):
            self.select(branch)
        return logits[branch]

    def finish(self, places: Tensor) -> None:
        """Mark rows as finished. Nothing is freed before they are removed."""

    def select(self, rows: Tensor) -> None:
        """Keep only these rows."""
        self.cache.batch_select_indices(rows)
        self.seen = self.seen[rows]
        self.read.last_hidden_state = self.read.last_hidden_state[rows]

    def exchange(self, rows: Tensor, newest: int) -> None:
        """Copy only the newest columns of the decoder. The encoder's are the same for both rows."""
        _exchange(self.cache.self_attention_cache, rows, newest)

    def advance(self, tokens: Tensor) -> Tensor:
        """Append one token to every row."""
        output = self.model(
            encoder_outputs=self.read,
            attention_mask=self.seen,
            decoder_input_ids=tokens[:, None],
            past_key_values=self.cache,
            use_cache=True,
        )
        logits: Tensor = output.logits[:, -1].float()
        return logits


def _exchange(cache: Any, rows: Tensor, newest: int) -> None:
    places = (rows != torch.arange(len(rows), device=rows.device)).nonzero()[:, 0]
    for layer in cache.layers:
        layer.take_over(places, rows[places], newest)


def pad_rows(
    rows: Sequence[Sequence[int] | NDArray[Any]], device: torch.device, *, left: bool, pad: int = 0
) -> tuple[Tensor, Tensor]:
    """Return token ids padded to the longest row, before (left) or after the tokens, and a mask of the tokens."""
    width = max(map(len, rows))
    ids = torch.full((len(rows), width), pad, dtype=torch.long)
    seen = torch.zeros(len(rows), width, dtype=torch.long)
    for i, row in enumerate(rows):
        place = slice(width - len(row), width) if left else slice(len(row))
        ids[i, place] = torch.as_tensor(row, dtype=torch.long)
        seen[i, place] = 1
    return ids.to(device), seen.to(device)
