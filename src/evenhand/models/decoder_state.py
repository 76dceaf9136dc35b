"""Rows being written side by side: prompts are read once and branched, rows advance together, leave and join."""

import inspect
from collections.abc import Sequence
from typing import Any, Protocol

import torch
from torch import Tensor
from transformers.cache_utils import DynamicCache, EncoderDecoderCache
from transformers.modeling_outputs import BaseModelOutput

from evenhand.models.key_values import buffered_cache, cache_of_rows
from evenhand.schema import Unsupported


class DecoderState(Protocol):
    """What writing needs of a model; logits are those of the next token, (rows, vocabulary), float32.

    `staggers`: whether rows may join while others are under way.
    """

    model: Any
    device: torch.device
    staggers: bool

    def clear(self) -> None:
        """Forget all rows."""
        ...

    def join(self, prompts: Sequence[Sequence[int]], branch: Tensor, places: Tensor) -> Tensor:
        """Read the prompts once each; a row that continues prompt branch[i] takes places[i].

        Places are those of rows that have finished, or follow on the last row. Without `staggers` there must
        be no rows, and the places are 0, 1, 2, ... Returns the logits of the rows that joined, in their order.
        """
        ...

    def finish(self, places: Tensor) -> None:
        """These rows are done; until they leave or others take their places they only fill them."""
        ...

    def select(self, rows: Tensor) -> None:
        """Go on with these rows, in this order; a row may be taken several times."""
        ...

    def advance(self, tokens: Tensor) -> Tensor:
        """Append one token to every row."""
        ...


class CausalState:
    """Rows of a decoder-only model.

    All rows end at the same, newest column of keys and values, whatever their age; in front of a row's first
    token its columns are masked. So distances between tokens are those between columns, as sliding windows
    and linear biases need it, and a row can join at any time.
    """

    def __init__(self, model: Any):
        self.model = model
        self.device = model.get_input_embeddings().weight.device
        takes = inspect.signature(model.forward).parameters
        if "past_key_values" not in takes:
            raise Unsupported(
                f"{type(model).__name__} keeps no keys and values to go on from, so it cannot write here.",
                "Use a transformer, or write its texts elsewhere and bring them as a file.",
            )
        self.with_positions = "position_ids" in takes
        self.last_only = {"logits_to_keep": 1} if "logits_to_keep" in takes else {}
        self.staggers = True
        self.clear()

    def clear(self) -> None:
        """Forget all rows."""
        self.cache: Any = None
        self.seen = torch.zeros(0, 0, dtype=torch.long, device=self.device)  # (rows, columns)

    def join(self, prompts: Sequence[Sequence[int]], branch: Tensor, places: Tensor) -> Tensor:
        """Read the prompts; the head is evaluated at their last tokens only."""
        ids, seen = _padded(prompts, self.device, left=True)
        read: Any = DynamicCache()
        logits = self._forward(ids, seen, read)
        self._make_room(read, ids.shape[1], int(places.max()) + 1)
        for layer, source in zip(self.cache.layers, read.layers, strict=True):
            if source.is_initialized:  # some layers share the keys and values of another
                layer.put(places, source.keys[branch], source.values[branch])
        self.seen[places] = 0
        self.seen[places, self.seen.shape[1] - ids.shape[1] :] = seen[branch]
        return logits[branch]

    def select(self, rows: Tensor) -> None:
        """Keep these rows."""
        self.cache.batch_select_indices(rows)
        self.seen = self.seen[rows]
        self._drop_columns_nobody_needs()

    def advance(self, tokens: Tensor) -> Tensor:
        """Append one token to every row."""
        self._drop_columns_nobody_needs()
        self.seen = torch.cat([self.seen, self.seen.new_ones(len(self.seen), 1)], dim=1)
        return self._forward(tokens[:, None], self.seen, self.cache)

    def finish(self, places: Tensor) -> None:
        """These rows are done: what only they needed can be dropped."""
        self.seen[places, :-1] = 0

    def _make_room(self, read: Any, columns: int, rows: int) -> None:
        held, width = self.seen.shape
        if self.cache is None:
            self.cache = cache_of_rows(read, rows, columns)
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

    def _forward(self, ids: Tensor, seen: Tensor, cache: Any) -> Tensor:
        inputs: dict[str, Any] = {"attention_mask": seen, "past_key_values": cache}
        if self.with_positions:
            # Padding counts for nothing, so the first real token stands at place 0 in every row.
            inputs["position_ids"] = (seen.cumsum(1) - 1).clamp(min=0)[:, -ids.shape[1] :]
        output = self.model(input_ids=ids, use_cache=True, **self.last_only, **inputs)
        logits: Tensor = output.logits[:, -1].float()
        return logits


class EncoderDecoderState:
    """Rows of an encoder-decoder model: prompts stand in the encoder, read once each.

    Its decoders count places from the first column (BART, T5), so all rows begin together.
    """

    staggers = False

    def __init__(self, model: Any, start: int):
        self.model, self.first_token = model, start
        self.device = model.get_input_embeddings().weight.device

    def clear(self) -> None:
        """Forget all rows."""
        self.cache = EncoderDecoderCache(buffered_cache(), DynamicCache())

    def join(self, prompts: Sequence[Sequence[int]], branch: Tensor, places: Tensor) -> Tensor:
        """Read the prompts and write the token that decoding starts from."""
        assert places.tolist() == list(range(len(branch))), "rows of an encoder-decoder model begin together"
        self.clear()
        ids, self.seen = _padded(prompts, self.device, left=False)
        encoder = self.model.get_encoder()
        self.hidden = encoder(input_ids=ids, attention_mask=self.seen).last_hidden_state
        logits = self.advance(torch.full((len(prompts),), self.first_token, device=self.device))
        if branch.tolist() != list(range(len(prompts))):
            self.select(branch)
        return logits[branch]

    def finish(self, places: Tensor) -> None:
        """These rows are done; nothing needs to be forgotten before they leave."""

    def select(self, rows: Tensor) -> None:
        """Keep these rows."""
        self.cache.batch_select_indices(rows)
        self.seen, self.hidden = self.seen[rows], self.hidden[rows]

    def advance(self, tokens: Tensor) -> Tensor:
        """Append one token to every row."""
        output = self.model(
            encoder_outputs=BaseModelOutput(last_hidden_state=self.hidden),
            attention_mask=self.seen,
            decoder_input_ids=tokens[:, None],
            past_key_values=self.cache,
            use_cache=True,
        )
        logits: Tensor = output.logits[:, -1].float()
        return logits


def _padded(prompts: Sequence[Sequence[int]], device: torch.device, *, left: bool) -> tuple[Tensor, Tensor]:
    width = max(map(len, prompts))
    ids = torch.zeros(len(prompts), width, dtype=torch.long)
    seen = torch.zeros(len(prompts), width, dtype=torch.long)
    for row, prompt in enumerate(prompts):
        place = slice(width - len(prompt), width) if left else slice(len(prompt))
        ids[row, place] = torch.tensor(prompt)
        seen[row, place] = 1
    return ids.to(device), seen.to(device)
