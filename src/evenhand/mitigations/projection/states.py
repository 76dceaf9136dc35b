"""Compute the mean over a sentence's tokens of the states before the output matrix."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.mitigations.training import Encoding, encode_texts, hidden_and_logits, pad_token

Floats = NDArray[np.float64]


def mean_states(
    model: Any, tokenizer: Any, texts: Sequence[str], encoding: Encoding, rows: int = 64
) -> Floats:
    """Return the mean over a sentence's tokens of the states before the output matrix, shape (n, size).

    Start tokens are left out, because they are the same in all sentences. Raises Unsupported for models without an
    output layer, and a DataError for texts of fewer than two tokens.

    References
    ----------
    - Liang et al. 2020, section 2.2; mean over tokens: Meade et al. 2022.
    """
    import torch

    examples = encode_texts(tokenizer, texts, longest=encoding.longest, start=encoding.start)
    lead, pad, device = len(encoding.start), pad_token(tokenizer), next(model.parameters()).device
    order = sorted(range(len(examples)), key=lambda row: len(examples.ids[row]))
    found: dict[int, Floats] = {}
    with torch.no_grad():
        for first in range(0, len(order), rows):
            chosen = order[first : first + rows]
            batch = examples.batch(chosen, pad).to(device)
            hidden = hidden_and_logits(model.eval(), batch).hidden
            counted = batch.attention_mask.clone()
            counted[:, :lead] = 0
            weights = counted[..., None].to(torch.float64)
            means = (hidden.double() * weights).sum(1) / weights.sum(1).clamp(min=1)
            found.update(zip(chosen, means.cpu().numpy(), strict=True))
    return np.stack([found[row] for row in range(len(examples))])
