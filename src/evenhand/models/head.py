"""The output head on chosen positions only: vocabulary-sized rows exist for a few positions at a time."""

from typing import Any

import torch

MOST_LOGITS = 1 << 24  # elements alive at once: 64 MiB in fp32


class Head:
    """Next-token log probabilities from hidden states, with fp32 normalisation.

    Knows the three ways in which decoders reshape logits after the projection: a factor (Cohere), a
    divisor (Granite) and a soft cap (Gemma). Anything else is caught by the self-check at load.
    """

    def __init__(self, model: Any):
        projection = model.get_output_embeddings()
        if projection is None:
            raise AttributeError("the model names no output embeddings")
        config = model.config.get_text_config() if hasattr(model.config, "get_text_config") else model.config
        self.projection = projection
        self.factor = float(getattr(config, "logit_scale", None) or 1.0)
        self.divisor = float(getattr(config, "logits_scaling", None) or 1.0)
        self.cap = getattr(config, "final_logit_softcapping", None)
        self.vocabulary = int(projection.weight.shape[0])

    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """(rows, hidden size) to (rows, vocabulary) in fp32."""
        logits: torch.Tensor = self.projection(hidden).float()
        if self.factor != 1.0 or self.divisor != 1.0:
            logits = logits * (self.factor / self.divisor)
        if self.cap:
            logits = torch.tanh(logits / self.cap) * self.cap
        return logits

    def log_probs(
        self, hidden: torch.Tensor, rows: torch.Tensor, edge_rows: torch.Tensor, edge_tokens: torch.Tensor
    ) -> torch.Tensor:
        """Log probability of each edge.

        hidden: (positions, size). rows: (r,) positions with a next-token distribution. edge_rows: (e,)
        ascending indices into `rows`; edge_tokens: (e,) the tokens scored there. Returns (e,) fp32, nats.
        """
        step = max(1, MOST_LOGITS // self.vocabulary)
        cuts = torch.searchsorted(edge_rows, torch.arange(0, len(rows) + step, step, device=edge_rows.device))
        pieces = []
        for chunk in range((len(rows) + step - 1) // step):
            first = chunk * step
            logits = self.logits(hidden[rows[first : first + step]])
            edges = slice(int(cuts[chunk]), int(cuts[chunk + 1]))
            own = edge_rows[edges] - first
            pieces.append(logits[own, edge_tokens[edges]] - torch.logsumexp(logits, dim=-1)[own])
        return torch.cat(pieces) if pieces else hidden.new_zeros(0, dtype=torch.float32)
