"""Compute the output head at selected positions only, so that few rows of vocabulary size exist at a time.

`Head` is applied to a decoder's hidden states. `compute_logits` runs a whole model. There, a hook passes only the
selected positions to the last projection, which `get_output_embeddings` returns. The model's own steps before it
(BERT's transform, T5's scaling) and after it (BART's bias, Gemma's cap) therefore stay in place. If a model does not
follow that pattern, `can_choose` returns a reason and all positions are projected.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

MOST_LOGITS = 1 << 24  # elements in memory at a time: 64 MiB in 32 bits
# 24 MiB; from 32 MiB on, the C library returns memory to the system and allocates it again
MOST_ON_PROCESSOR = 3 << 21
IN_CACHE = 1 << 19  # 2 MiB, because these values are read and written several times in a row


class Head:
    """Compute next-token log probabilities from hidden states, normalised in 32 bits.

    It supports the three ways in which decoders change logits after the projection: a factor (Cohere), a divisor
    (Granite) and a soft cap (Gemma). The self-check at load detects any other way.
    """

    def __init__(self, model: Any):
        projection = model.get_output_embeddings()
        if projection is None:
            raise AttributeError("the model has no output embeddings")
        config = model.config.get_text_config() if hasattr(model.config, "get_text_config") else model.config
        self.projection = projection
        self.factor = float(getattr(config, "logit_scale", None) or 1.0)
        self.divisor = float(getattr(config, "logits_scaling", None) or 1.0)
        self.cap = getattr(config, "final_logit_softcapping", None)
        self.vocabulary = int(projection.weight.shape[0])

    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return the logits (rows, vocabulary) of hidden states (rows, hidden size), in 32 bits."""
        logits: torch.Tensor = self.projection(hidden).float()
        if self.factor != 1.0 or self.divisor != 1.0:
            logits = logits * (self.factor / self.divisor)
        if self.cap:
            logits = torch.tanh(logits / self.cap) * self.cap
        return logits

    def log_probs(
        self, hidden: torch.Tensor, rows: torch.Tensor, edge_rows: torch.Tensor, edge_tokens: torch.Tensor
    ) -> torch.Tensor:
        """Return the log probability of each edge, (e,), in 32 bits and nats.

        hidden: (positions, size). rows: (r,) positions with a next-token distribution. edge_rows: (e,) ascending
        indices into `rows`; edge_tokens: (e,) the tokens scored there.
        """
        on_processor = hidden.device.type == "cpu"
        step = max(1, (MOST_ON_PROCESSOR if on_processor else MOST_LOGITS) // self.vocabulary)
        cuts = torch.searchsorted(edge_rows, torch.arange(0, len(rows) + step, step, device=edge_rows.device))
        pieces = []
        for chunk in range((len(rows) + step - 1) // step):
            first = chunk * step
            logits = self.logits(hidden[rows[first : first + step]])
            edges = slice(int(cuts[chunk]), int(cuts[chunk + 1]))
            edge_row = edge_rows[edges] - first
            chosen = logits[edge_row, edge_tokens[edges]]
            norms = _log_sum_exp_in_place(logits) if on_processor else torch.logsumexp(logits, dim=-1)
            pieces.append(chosen - norms[edge_row])
        return torch.cat(pieces) if pieces else hidden.new_zeros(0, dtype=torch.float32)


def _log_sum_exp_in_place(logits: Tensor) -> Tensor:
    """Return `torch.logsumexp` over the last of two dimensions; it overwrites the logits and
    needs no additional memory.
    """
    norms = []
    for part in torch.split(logits, max(1, IN_CACHE // logits.shape[1])):
        highest = part.amax(-1, keepdim=True)
        norms.append(part.sub_(highest).exp_().sum(-1).log_().add_(highest[:, 0]))
    return torch.cat(norms)


TOLERANCE = 2e-4
TOLERANCE_16_BIT = 0.1


def most_targets(vocabulary: int, device: torch.device) -> int:
    """Return the maximum number of positions with logits in memory: 256 MiB on a CPU, 2 GiB on an accelerator."""
    return max(1, (1 << (26 if device.type == "cpu" else 29)) // vocabulary)


def compute_logits(model: Any, inputs: Mapping[str, Any], positions: Tensor, *, choose: bool) -> Tensor:
    """Return the logits (r, vocabulary) at flat positions (row * width + column) of the last hidden states.

    With `choose`, only these positions are projected (see `can_choose`); otherwise all are, and then selected.
    """
    if not choose:
        logits: Tensor = model(**inputs).logits
        return logits.flatten(0, 1)[positions]

    def only_chosen(_: Any, given: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return (given[0].flatten(0, -2)[positions], *given[1:])

    hook = model.get_output_embeddings().register_forward_pre_hook(only_chosen)
    try:
        chosen: Tensor = model(**inputs).logits
    finally:
        hook.remove()
    if chosen.shape[0] != len(positions) or chosen.dim() != 2:
        raise ValueError(f"logits of shape {tuple(chosen.shape)} for {len(positions)} positions")
    return chosen


def token_log_probs(logits: Tensor, rows: Tensor, tokens: Tensor) -> Tensor:
    """Return the natural log probability of each token (e,), in 32 bits for any precision of the model.

    `logits` has the shape (r, vocabulary). `rows` (e,) is the row of logits of each token, and `tokens` (e,) its id.
    """
    step = max(1, MOST_LOGITS // logits.shape[-1])
    norms = torch.cat(
        [torch.logsumexp(logits[i : i + step].float(), -1) for i in range(0, len(logits), step)]
    )
    return logits[rows, tokens].float() - norms[rows]


@torch.inference_mode()
def can_choose(model: Any, inputs: Mapping[str, Any], positions: Tensor) -> str | None:
    """Return None if logits can be computed at selected positions only; otherwise the reason why not."""
    if model.get_output_embeddings() is None:
        return "the model names no output embeddings"
    truth = compute_logits(model, inputs, positions, choose=False).float()
    try:
        chosen = compute_logits(model, inputs, positions, choose=True).float()
    except (TypeError, ValueError, RuntimeError, IndexError, AttributeError) as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0][:120]}"
    off = largest_difference(truth, chosen)
    return None if off <= tolerance(truth, model.dtype) else f"logits differ by {off:.2g}"


@torch.inference_mode()
def survives_padding(model: Any, alone: Mapping[str, Any], padded: Mapping[str, Any], width: int) -> bool:
    """Return True if the first `width` positions of the first row have the same result alone and in a padded batch."""
    truth = model(**alone).logits[0, :width].float().log_softmax(-1)
    among = model(**padded).logits[0, :width].float().log_softmax(-1)
    return largest_difference(truth, among) <= tolerance(truth, model.dtype)


def tolerance(values: Tensor, dtype: torch.dtype) -> float:
    """Return the largest difference that rounding can cause, for logits or log probabilities of this size."""
    scale = max(1.0, float(values[values.isfinite()].abs().max()) / 10) if values.isfinite().any() else 1.0
    return scale * (TOLERANCE if dtype.itemsize >= 4 else TOLERANCE_16_BIT)


def largest_difference(truth: Tensor, other: Tensor) -> float:
    """Return the largest absolute difference of two tensors of equal shape; infinity if only one of two values is
    NaN.
    """
    # if a broken model gives NaN both ways, its rows report that; it is not a reason to change the path
    same = (truth == other) | (truth.isnan() & other.isnan())
    difference = torch.where(same, 0.0, (truth - other).abs())
    return float(difference.nan_to_num(nan=float("inf")).max())
