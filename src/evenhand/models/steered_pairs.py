"""Log probabilities of targets under combined distributions, for encoder-decoder models: contexts in the encoder."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from evenhand.models.dialogue_pairs import TextPairs
from evenhand.models.steering import Steering
from evenhand.weights.batching import Budget, run_batches

Pairing = Callable[[Sequence[str], Sequence[str], Sequence[tuple[int, int] | None] | None], TextPairs]
"""Encodes texts, what the encoder reads for each, and spans (see `dialogue_pairs.text_pairs`)."""
Logits = Callable[[TextPairs, NDArray[np.int64], NDArray[np.int64]], Tensor]
"""Pairs, rows of them, and places in the flattened batch of their targets -> (places, vocabulary)."""


def steered_pairs(
    pairing: Pairing,
    logits: Logits,
    budget: Budget,
    silence: str | None,
    texts: Sequence[str],
    contexts: Sequence[str | None] | None,
    spans: Sequence[tuple[int, int] | None] | None,
    steering: Steering,
) -> tuple[TextPairs, list[NDArray[np.float32]], set[int]]:
    """Texts with their own contexts, log probabilities by pair, nats, and the pairs without room.

    pairing, logits: how the model encodes pairs and runs them. budget: its batches. silence: what it reads where a text
    has no context.
    """
    count, own = len(texts), contexts or [None] * len(texts)
    read = [steering.front + (context or "") for context in own]
    for extra in steering.contexts:
        read += [steering.front + extra + (context or silence or "") for context in own]
    all_spans = None if spans is None else [*spans] * steering.rows
    pairs = pairing([*texts] * steering.rows, read, all_spans)
    rows = range(count)
    groups: dict[int, list[int]] = {}  # by the pair of a text with its own context
    errors, details = list(pairs.errors[:count]), list(pairs.details[:count])
    pair_of: list[int | None] = list(pairs.pair_of[:count])
    for i in rows:
        group = [pairs.pair_of[k * count + i] for k in range(steering.rows)]
        known = [pair for pair in group if pair is not None]
        if len(known) == len(group):
            groups[known[0]] = known
            continue
        faulty = next(k for k, pair in enumerate(group) if pair is None)
        if faulty:
            errors[i], details[i] = (
                pairs.errors[faulty * count + i],
                f"behind a context: {pairs.details[faulty * count + i]}",
            )
        pair_of[i] = None
    scores = [np.full(len(scored), np.nan, dtype=np.float32) for scored in pairs.scored]
    unfit = _score(logits, budget, pairs, list(groups.values()), steering, scores)
    return replace(pairs, pair_of=pair_of, errors=errors, details=details), scores, unfit


def _score(
    logits: Logits,
    own: Budget,
    pairs: TextPairs,
    groups: list[list[int]],
    steering: Steering,
    scores: list[NDArray[np.float32]],
) -> set[int]:
    def run(chosen: NDArray[np.int64]) -> None:
        rows = np.array([pair for i in chosen for pair in groups[i]])
        width = max(len(pairs.targets[row]) for row in rows)
        places = np.concatenate(  # (tokens, rows a group)
            [
                pairs.scored[groups[i][0]][:, None] + width * (b * steering.rows + np.arange(steering.rows))
                for b, i in enumerate(chosen)
            ]
        )
        firsts = [groups[i][0] for i in chosen]
        tokens = np.concatenate([pairs.targets[pair][pairs.scored[pair]] for pair in firsts])
        with torch.inference_mode():
            evaluated = logits(pairs, rows, places.ravel()).float()
            log_probs = steering.combined(evaluated.view(-1, steering.rows, evaluated.shape[-1]))
            wanted = torch.as_tensor(tokens, dtype=torch.long, device=log_probs.device)
            values = log_probs.gather(1, wanted[:, None])[:, 0].cpu().numpy()
        cuts = np.cumsum([len(pairs.scored[pair]) for pair in firsts])[:-1]
        for pair, part in zip(firsts, np.split(values, cuts), strict=True):
            scores[pair] = part

    if not groups:
        return set()
    read = np.array([[len(pairs.contexts[pairs.context_of[pair]]) for pair in group] for group in groups])
    written = np.array([len(pairs.targets[group[0]]) for group in groups])
    lengths = np.stack([read.max(axis=1), written], axis=1).repeat(steering.rows, axis=1)
    targets = np.array([len(pairs.scored[group[0]]) * steering.rows for group in groups], dtype=np.int64)
    budget = Budget(own.tokens, own.most_targets)
    failed = run_batches(lengths.astype(np.int64), targets, budget, run)
    own.tokens, own.batches, own.tokens_run = (
        budget.tokens,
        own.batches + budget.batches,
        own.tokens_run + budget.tokens_run,
    )
    own.halvings += budget.halvings
    return {groups[i][0] for i in failed}
