"""Rows of models that do not work with our buffers of keys and values: with their own cache, or without a cache.

Hybrids (Jamba, Falcon-H1, Qwen3-Next, ...) have a running state in addition to keys and values, and others a custom
cache. `OwnCacheState` uses the cache of transformers, for rows of equal length that start together. `UncachedState`
reads every row again for every token, which is slow but correct for every model that reads from left to right.
"""

import inspect
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import DynamicCache

from evenhand.schema import Unsupported


class OwnCacheState:
    """Rows of equal length in the cache that transformers creates for the model.

    tells_places: whether to pass positions, from 0. Some models compute their own (RoBERTa), others do not (Bamba).
    Raises Unsupported for models without a cache.
    """

    name = "the cache that transformers makes for it"
    staggers = pads = False

    def __init__(self, model: Any, tells_places: bool = True):
        self.model, self.tokens_read = model, 0
        self.device = model.get_input_embeddings().weight.device
        takes = inspect.signature(model.forward).parameters
        self.tells_places = tells_places and "position_ids" in takes
        self.cache_name = next((name for name in ("past_key_values", "cache_params") if name in takes), None)
        if self.cache_name is None:
            raise Unsupported(
                f"{type(model).__name__} does not accept a cache.",
                "Instead, its rows are computed again for every token.",
            )
        self.last_only = {"logits_to_keep": 1} if "logits_to_keep" in takes else {}
        self.clear()

    def clear(self) -> None:
        """Remove all rows."""
        self.cache: Any = None
        self.length = 0

    def join(self, prompts: Sequence[Sequence[int]], branch: Tensor, places: Tensor) -> Tensor:
        """Read the prompts, which all have the same length."""
        assert places.tolist() == list(range(len(branch))), "these rows begin together"
        self.clear()
        self.cache = DynamicCache(config=self.model.config.get_text_config(decoder=True))
        self.tokens_read = sum(map(len, prompts))
        logits = self._forward(torch.tensor(list(prompts), dtype=torch.long, device=self.device))
        if branch.tolist() != list(range(len(prompts))):
            self.select(branch)
        return logits[branch]

    def finish(self, places: Tensor) -> None:
        """Do nothing; finished rows stay until they are removed."""

    def select(self, rows: Tensor) -> None:
        """Keep only these rows."""
        self.cache.reorder_cache(rows)

    def exchange(self, rows: Tensor, newest: int) -> None:
        """Copy whole rows, because a running state has no columns."""
        self.select(rows)

    def advance(self, tokens: Tensor) -> Tensor:
        """Append one token to every row."""
        return self._forward(tokens[:, None])

    def _forward(self, ids: Tensor) -> Tensor:
        # no attention mask, because there is no padding, and single steps of Mamba misread a mask
        inputs: dict[str, Any] = {str(self.cache_name): self.cache}
        before, self.length = self.length, self.length + ids.shape[1]
        if self.tells_places:
            inputs["position_ids"] = torch.arange(before, self.length, device=self.device).expand(
                len(ids), -1
            )
        output = self.model(input_ids=ids, use_cache=True, **inputs, **self.last_only)
        logits: Tensor = output.logits[:, -1].float()
        return logits


class UncachedState:
    """Rows that are read again for every token, batched by length."""

    name = "no cache"
    staggers = pads = True

    def __init__(self, model: Any):
        self.model, self.tokens_read = model, 0
        self.device = model.get_input_embeddings().weight.device
        self.clear()

    def clear(self) -> None:
        """Remove all rows."""
        self.rows: list[list[int]] = []  # a finished row is empty

    def join(self, prompts: Sequence[Sequence[int]], branch: Tensor, places: Tensor) -> Tensor:
        """Read the prompts."""
        self.tokens_read = sum(map(len, prompts))
        self.rows += [[] for _ in range(int(places.max()) + 1 - len(self.rows))]
        for place, prompt in zip(places.tolist(), branch.tolist(), strict=True):
            self.rows[place] = list(prompts[prompt])
        return self._logits(prompts)[branch]

    def finish(self, places: Tensor) -> None:
        """Mark these rows as finished, so that they are not read again."""
        for place in places.tolist():
            self.rows[place] = []

    def select(self, rows: Tensor) -> None:
        """Keep only these rows."""
        self.rows = [list(self.rows[row]) for row in rows.tolist()]

    def exchange(self, rows: Tensor, newest: int) -> None:
        """Continue from other rows."""
        self.select(rows)

    def advance(self, tokens: Tensor) -> Tensor:
        """Append one token to every unfinished row; the logits of finished rows have no meaning."""
        for row, token in zip(self.rows, tokens.tolist(), strict=True):
            if row:
                row.append(token)
        return self._logits(self.rows)

    def _logits(self, rows: Sequence[Sequence[int]]) -> Tensor:
        distinct: dict[int, dict[tuple[int, ...], list[int]]] = {}
        for place, row in enumerate(rows):
            distinct.setdefault(len(row), {}).setdefault(tuple(row), []).append(place)
        distinct.pop(0, None)
        found: Tensor | None = None
        for group in distinct.values():
            ids = torch.tensor(list(group), dtype=torch.long, device=self.device)
            last = self.model(input_ids=ids, use_cache=False).logits[:, -1].float()
            if found is None:
                found = last.new_zeros(len(rows), last.shape[-1])
            for values, places in zip(last, group.values(), strict=True):
                found[places] = values
        assert found is not None, "there is a row that is not done"
        return found
