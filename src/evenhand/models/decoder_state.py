"""Rows being written side by side: read the prompts once, branch, advance by one token, drop rows."""

import inspect
from collections.abc import Sequence
from typing import Any, Protocol

import torch
from transformers.cache_utils import DynamicCache, DynamicLayer, EncoderDecoderCache
from transformers.modeling_outputs import BaseModelOutput

from evenhand.schema import Unsupported

BLOCK = 32  # places added to a full cache at once


class GrowingLayer(DynamicLayer):  # type: ignore[no-untyped-call]
    """Keys and values of one layer with spare places behind them.

    The stock layer copies everything it holds at every token, which on a processor costs as much as reading
    the weights; this one copies once in `BLOCK` tokens.
    """

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        """Begin with nothing, in the type and on the device of the first states."""
        super().lazy_initialization(key_states, value_states)
        self.rooms: list[torch.Tensor] = []

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Append states, (rows, heads, new, width), and return all there are."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        filled = self.get_seq_length()
        length = filled + key_states.shape[-2]
        if not self.rooms or length > self.rooms[0].shape[-2] or self.rooms[0].shape[0] != len(key_states):
            self.rooms = [
                states.new_empty((*states.shape[:2], length + BLOCK, states.shape[3]))
                for states in (key_states, value_states)
            ]
            if self.keys is not None and self.values is not None and filled:
                for room, old in zip(self.rooms, (self.keys, self.values), strict=True):
                    room[:, :, :filled] = old
        for room, new in zip(self.rooms, (key_states, value_states), strict=True):
            room[:, :, filled:length] = new
        keys, values = (room[:, :, :length] for room in self.rooms)
        self.keys, self.values = keys, values
        return keys, values

    def batch_select_indices(self, indices: torch.Tensor) -> None:
        """Keep these rows, in this order; a row may be taken several times."""
        if self.keys is not None and self.values is not None:
            self.keys, self.values = self.keys[indices], self.values[indices]
            self.rooms = []


class DecoderState(Protocol):
    """What writing needs of a model; logits are those of the next token, (rows, vocabulary), float32."""

    def start(self, prompts: Sequence[Sequence[int]]) -> torch.Tensor:
        """Read the prompts, one row each."""
        ...

    def select(self, rows: torch.Tensor) -> None:
        """Go on with these rows, in this order; a row may be taken several times."""
        ...

    def advance(self, tokens: torch.Tensor) -> torch.Tensor:
        """Append one token to every row."""
        ...


class CausalState:
    """Rows of a decoder-only model, prompts padded on the left."""

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

    def start(self, prompts: Sequence[Sequence[int]]) -> torch.Tensor:
        """Read the prompts; the head is evaluated at their last tokens only."""
        ids, self.seen = _padded(prompts, self.device, left=True)
        self.cache = _growing_cache()
        return self._forward(ids)

    def select(self, rows: torch.Tensor) -> None:
        """Keep these rows."""
        self.cache.batch_select_indices(rows)
        self.seen = self.seen[rows]

    def advance(self, tokens: torch.Tensor) -> torch.Tensor:
        """Append one token to every row."""
        self.seen = torch.cat([self.seen, self.seen.new_ones(len(self.seen), 1)], dim=1)
        return self._forward(tokens[:, None])

    def _forward(self, ids: torch.Tensor) -> torch.Tensor:
        inputs: dict[str, Any] = {"attention_mask": self.seen, "past_key_values": self.cache}
        if self.with_positions:
            # Padding counts for nothing, so the first real token stands at place 0 in every row.
            inputs["position_ids"] = (self.seen.cumsum(1) - 1).clamp(min=0)[:, -ids.shape[1] :]
        output = self.model(input_ids=ids, use_cache=True, **self.last_only, **inputs)
        logits: torch.Tensor = output.logits[:, -1].float()
        return logits


class EncoderDecoderState:
    """Rows of an encoder-decoder model: prompts stand in the encoder, read once each."""

    def __init__(self, model: Any, start: int):
        self.model, self.first_token = model, start
        self.device = model.get_input_embeddings().weight.device

    def start(self, prompts: Sequence[Sequence[int]]) -> torch.Tensor:
        """Read the prompts and write the token that decoding starts from."""
        ids, self.seen = _padded(prompts, self.device, left=False)
        encoder = self.model.get_encoder()
        self.hidden = encoder(input_ids=ids, attention_mask=self.seen).last_hidden_state
        self.cache = EncoderDecoderCache(_growing_cache(), DynamicCache())
        return self.advance(torch.full((len(prompts),), self.first_token, device=self.device))

    def select(self, rows: torch.Tensor) -> None:
        """Keep these rows."""
        self.cache.batch_select_indices(rows)
        self.seen, self.hidden = self.seen[rows], self.hidden[rows]

    def advance(self, tokens: torch.Tensor) -> torch.Tensor:
        """Append one token to every row."""
        output = self.model(
            encoder_outputs=BaseModelOutput(last_hidden_state=self.hidden),
            attention_mask=self.seen,
            decoder_input_ids=tokens[:, None],
            past_key_values=self.cache,
            use_cache=True,
        )
        logits: torch.Tensor = output.logits[:, -1].float()
        return logits


def why_not_in_batches(state: DecoderState, vocabulary: int, device: torch.device) -> str | None:
    """Whether rows of different lengths, branched and dropped, answer like rows alone: None, or the reason.

    Compares one branched step of two random prompts with each prompt read alone.
    """
    random = torch.Generator().manual_seed(0)
    prompts = [torch.randint(vocabulary, (n,), generator=random).tolist() for n in (3, 7)]
    tokens = torch.randint(vocabulary, (2,), generator=random).to(device)
    order = torch.tensor([0, 1, 1, 0], device=device)
    with torch.inference_mode():
        alone = []
        for prompt, token in zip(prompts, tokens, strict=True):
            state.start([prompt])
            alone.append(state.advance(token[None]).log_softmax(-1)[0])
        state.start(prompts)
        state.select(order)
        together = state.advance(tokens[order]).log_softmax(-1)
    worst = float((together - torch.stack(alone)[order]).abs().max())
    # 16-bit models round differently in every batch shape; a real fault is of the order of the logits.
    tolerance = 1e-2 if _is_float32(state) else 0.3
    if worst <= tolerance:
        return None
    return f"padding changes this model's answers (by up to {worst:.2g} nats a token)"


def _is_float32(state: DecoderState) -> bool:
    return bool(next(state.model.parameters()).dtype == torch.float32)  # type: ignore[attr-defined]


def _growing_cache() -> DynamicCache:
    cache = DynamicCache()
    cache.layer_class_to_replicate = GrowingLayer
    return cache


def _padded(
    prompts: Sequence[Sequence[int]], device: torch.device, *, left: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    width = max(map(len, prompts))
    ids = torch.zeros(len(prompts), width, dtype=torch.long)
    seen = torch.zeros(len(prompts), width, dtype=torch.long)
    for row, prompt in enumerate(prompts):
        place = slice(width - len(prompt), width) if left else slice(len(prompt))
        ids[row, place] = torch.tensor(prompt)
        seen[row, place] = 1
    return ids.to(device), seen.to(device)
