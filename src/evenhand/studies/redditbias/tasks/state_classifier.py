"""Causal model with one yes/no output in torch, which is trained for state tracking."""

from typing import Any

import torch
from torch import Tensor, nn


class StateClassifier(nn.Module):
    """Body of a causal model with one linear output on one of its hidden states."""

    def __init__(self, causal: Any, seed: int):
        super().__init__()
        self.body = causal.base_model
        self.body.eval()
        start = next(self.body.parameters())
        with torch.no_grad():
            size = self.body(input_ids=torch.zeros((1, 1), dtype=torch.long, device=start.device))
        with torch.random.fork_rng([]):
            torch.manual_seed(seed)
            self.head = nn.Linear(size.last_hidden_state.shape[-1], 1)
        self.head.to(start.device)

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None) -> Tensor:
        """Return log-odds of yes, shape (rows,).

        The output reads the last token of each row. Without a mask it reads the last column, even if that is padding.
        """
        seen = {} if attention_mask is None else {"attention_mask": attention_mask}
        hidden = self.body(input_ids=input_ids, use_cache=False, **seen).last_hidden_state
        if attention_mask is None:
            last = hidden[:, -1]
        else:
            ends = attention_mask.sum(dim=1) - 1
            last = hidden[torch.arange(len(hidden), device=hidden.device), ends]
        answers: Tensor = self.head(last.float()).squeeze(-1)
        return answers
