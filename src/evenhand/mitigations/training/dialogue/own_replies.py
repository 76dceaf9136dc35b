"""Let a model in training continue the first tokens of the replies that it learns."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.mitigations.training.examples import IGNORED, Batch, Examples

if TYPE_CHECKING:
    from torch import Tensor


def own_replies(model: Any, batch: Batch, share: float, ends: Sequence[int], max_new_tokens: int) -> Batch:
    """Return examples whose replies are continued greedily by the model; only generated tokens have labels.

    Parameters
    ----------
    model
        A model of transformers, which may be wrapped by adapters and accelerate. It generates without dropout and
        without gradients.
    batch : Batch
        The examples.
    share : float
        Share (0 to below 1) of the shortest reply in the batch. This number of tokens of each reply is kept.
    ends : sequence of int
        Tokens that end a reply. They are included in it.
    max_new_tokens : int
        Maximum number of generated tokens; the context size of the model may reduce it.
    """
    import torch

    learned = batch.labels[:, 1:] != IGNORED
    begins = (learned.int().argmax(1) + 1).tolist()
    kept = int(share * int(learned.sum(1).min()))
    ids = batch.input_ids.tolist()
    read = [row[: begin + kept] for row, begin in zip(ids, begins, strict=True)]
    plain = _unwrap_model(model)
    room = getattr(plain.config.get_text_config(), "max_position_embeddings", None) or -1
    if room > 0:
        max_new_tokens = min(max_new_tokens, room - max(map(len, read)))
    with torch.no_grad(), _without_dropout(plain):
        if batch.context_ids is None:
            written = _behind_texts(plain, read, ends, max_new_tokens)
        else:
            assert batch.context_mask is not None
            contexts = [
                row[:length]
                for row, length in zip(
                    batch.context_ids.tolist(), batch.context_mask.sum(1).tolist(), strict=True
                )
            ]
            written = _behind_contexts(plain, contexts, read, ends, max_new_tokens)
    rows = [np.array([*one, *new], dtype=np.int64) for one, new in zip(read, written, strict=True)]
    labels = [
        np.array([IGNORED] * len(one) + new, dtype=np.int64) for one, new in zip(read, written, strict=True)
    ]
    made = Examples(rows, labels).batch(range(len(rows)), 0).to(batch.input_ids.device)
    return replace(made, values=batch.values, context_ids=batch.context_ids, context_mask=batch.context_mask)


def _behind_texts(model: Any, texts: Sequence[list[int]], ends: Sequence[int], most: int) -> list[list[int]]:
    from evenhand.models.writing import ways_of_causal

    state, _ = ways_of_causal(model)
    together = [list(range(len(texts)))] if state.pads else [[row] for row in range(len(texts))]
    written: list[list[int]] = []
    for rows in together:
        state.clear()
        places = _places(len(rows), state.device)
        logits = state.join([texts[row] for row in rows], places, places)
        written += _greedily(state, logits, ends, most)
    return written


def _behind_contexts(
    model: Any, contexts: Sequence[list[int]], begun: Sequence[list[int]], ends: Sequence[int], most: int
) -> list[list[int]]:
    """Continue replies of an encoder-decoder model.

    begun: the decoder's tokens so far, of equal length, beginning with its start token.
    """
    import torch

    from evenhand.models.writing import EncoderDecoderState

    state = EncoderDecoderState(model, begun[0][0])
    places = _places(len(contexts), state.device)
    logits = state.join(contexts, places, places)
    for place in range(1, len(begun[0])):
        logits = state.advance(torch.tensor([row[place] for row in begun], device=state.device))
    return _greedily(state, logits, ends, most)


def _greedily(state: Any, logits: "Tensor", ends: Sequence[int], most: int) -> list[list[int]]:
    """Append the most likely token to each row until every row has an end token, which is included."""
    written: list[list[int]] = [[] for _ in range(len(logits))]
    done = [False] * len(logits)
    for place in range(most):
        tokens = logits.argmax(-1)
        for row, token in enumerate(tokens.tolist()):
            if not done[row]:
                written[row].append(token)
                done[row] = token in ends
        if all(done) or place == most - 1:
            break
        logits = state.advance(tokens)
    return written


def _places(rows: int, device: Any) -> "Tensor":
    import torch

    return torch.arange(rows, device=device)


def _unwrap_model(model: Any) -> Any:
    """Return the transformers model without its wrappers; adapters stay within its layers."""
    while not hasattr(model, "config"):
        model = model.module
    return model.get_base_model() if hasattr(model, "get_base_model") else model


@contextmanager
def _without_dropout(model: Any) -> Iterator[None]:
    training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(training)
