"""Generate text with the network in numpy, with the same rules and random numbers as in torch.

A row is sampled by inverting its distribution at uniform random numbers, which depend on prompt, sample and seed
(`row_uniforms`). Both engines therefore generate the same texts, unless a random number is at the boundary between two
tokens.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.models import Decoding, Generations
from evenhand.models.writing import Prompts, Reader, Row, RowRules, collect_rows
from evenhand.reference.in_numpy.network import Floats, Network, Past, log_normaliser

MOST_TOKENS = 1 << 14  # tokens in memory at a time, with their keys and values
MOST_ROWS = 256
IDLE_SHARE = 4  # finished rows are removed once they are one in four
BELOW_ONE = 1 - 2.0**-40  # so that rounding never makes a random number reach the total probability
Unit = tuple[int, int]
"""A prompt and one of its samples."""


def write(
    network: Network, tokenizer: Any, prompts: Prompts, decoding: Decoding, ends: Sequence[int]
) -> Generations:
    """Continue every prompt that has no error, greedily or by sampling (see TextGenerator.generate).

    prompts: encoded, with room for the continuation. ends: token ids that end a text.
    """
    rules = RowRules(prompts, decoding, Reader(tokenizer), frozenset(ends))
    usable = [i for i, error in enumerate(prompts.errors) if error is None]
    usable.sort(key=lambda i: -prompts.length(i))
    waiting = [(i, sample) for i in usable for sample in range(decoding.samples)]
    done: dict[Unit, Row] = {}
    while waiting:
        width = prompts.length(waiting[0][0]) + decoding.max_new_tokens
        count = max(1, min(MOST_ROWS, MOST_TOKENS // width))
        for row in _generate_rows(network, rules, waiting[:count]):
            done[row.prompt, row.sample] = row
        waiting = waiting[count:]
    return collect_rows(prompts, decoding, done, set())


def _generate_rows(network: Network, rules: RowRules, units: Sequence[Unit]) -> list[Row]:
    """Return finished rows, which are generated in parallel."""
    logits, past, fronts = _read(network, rules.prompts, units)
    rows = [rules.new_row(*unit) for unit in units]
    seats = list(rows)
    while True:
        tokens = choose_tokens(_mask_forbidden(rules, seats, logits), rules.decoding, seats)
        values = logits[np.arange(len(tokens)), tokens] - log_normaliser(logits)
        for row, token, value in zip(seats, tokens.tolist(), values.tolist(), strict=True):
            if not row.is_done:
                rules.append(row, token, value)
        going = np.array([not row.is_done for row in seats])
        if not going.any():
            return rows
        if (~going).sum() * IDLE_SHARE >= len(seats):
            seats = [row for row in seats if not row.is_done]
            tokens, fronts = tokens[going], fronts[going]
            past = [(keys[going], values[going]) for keys, values in past]
        columns = past[0][0].shape[2] + 1
        sees = np.arange(columns) >= fronts[:, None, None]
        # a finished row continues without effect until it is removed, within the available positions
        places = np.minimum(columns - 1 - fronts, network.positions - 1)
        hidden, past = network.hidden(tokens[:, None], places[:, None], sees, past)
        logits = network.logits(hidden[:, 0])


def _read(
    network: Network, prompts: Prompts, units: Sequence[Unit]
) -> tuple[Floats, Past, NDArray[np.int64]]:
    """Read each prompt once; return logits after it, keys and values, and the padding before it, one row per unit."""
    distinct = list(dict.fromkeys(prompt for prompt, _ in units))
    width = max(prompts.length(i) for i in distinct)
    tokens = np.zeros((len(distinct), width), dtype=np.int64)
    fronts = np.array([width - prompts.length(i) for i in distinct])
    for k, i in enumerate(distinct):
        tokens[k, fronts[k] :] = prompts.ids[i]
    columns = np.arange(width)
    sees = (columns <= columns[:, None]) & (columns >= fronts[:, None, None])
    hidden, past = network.hidden(tokens, np.maximum(columns - fronts[:, None], 0), sees)
    place = {i: k for k, i in enumerate(distinct)}
    branch = np.array([place[prompt] for prompt, _ in units])
    logits = network.logits(hidden[:, -1])
    return logits[branch], [(keys[branch], values[branch]) for keys, values in past], fronts[branch]


def _mask_forbidden(rules: RowRules, rows: Sequence[Row], logits: Floats) -> Floats:
    """Return a copy of the logits with minus infinity for forbidden tokens."""
    scores = logits.copy()
    for k, row in enumerate(rows):
        if row.ngrams is not None:
            scores[k, row.ngrams.blocked_tokens()] = -np.inf
        if len(row.tokens) < rules.decoding.min_new_tokens:
            scores[k, sorted(rules.ends)] = -np.inf
    return scores


def choose_tokens(scores: Floats, decoding: Decoding, rows: Sequence[Row]) -> NDArray[np.int64]:
    """Return the next token of each row, (rows,): the most likely one, or sampled by the row's next random number.

    scores: (rows, vocabulary) logits, with minus infinity for forbidden tokens.
    """
    if decoding.is_greedy:
        likeliest: NDArray[np.int64] = scores.argmax(-1)
        return likeliest
    kept = filter_logits(scores, decoding)
    kept = np.exp(kept - kept.max(-1, keepdims=True))
    mass = (kept / kept.sum(-1, keepdims=True)).astype(np.float64).cumsum(-1)
    last = decoding.max_new_tokens - 1  # for finished rows, which continue without effect
    uniforms = [0.0 if row.uniforms is None else row.uniforms[min(len(row.tokens), last)] for row in rows]
    points = np.minimum(uniforms, BELOW_ONE) * mass[:, -1]
    drawn: NDArray[np.int64] = np.minimum((mass <= points[:, None]).sum(-1), scores.shape[-1] - 1)
    return drawn


def filter_logits(scores: Floats, decoding: Decoding) -> Floats:
    """Return logits after temperature, top-k and top-p, in this order; minus infinity for excluded tokens.

    It equals `evenhand.models.writing.sampling.filter_logits` in torch. Source: Holtzman et al. 2020 for top-p.

    >>> rule = Decoding(max_new_tokens=1, temperature=1.0, top_k=1)
    >>> filter_logits(np.array([[0.0, 2.0]], dtype=np.float32), rule).tolist()
    [[-inf, 2.0]]
    """
    scores = scores / np.float32(decoding.temperature or 1.0)
    if decoding.top_k is not None:
        rank = max(0, scores.shape[-1] - decoding.top_k)
        least = np.partition(scores, rank, axis=-1)[:, rank, None]
        scores = np.where(scores < least, -np.inf, scores)
    if decoding.top_p is not None and decoding.top_p < 1:
        order = scores.argsort(-1)
        ascending = np.take_along_axis(scores, order, -1)
        share = np.exp(ascending - ascending[:, -1:])
        tail = (share / share.sum(-1, keepdims=True)).cumsum(-1) <= 1 - decoding.top_p
        tail[:, -1] = False
        gone = np.zeros_like(tail)
        np.put_along_axis(gone, order, tail, -1)
        scores = np.where(gone, -np.inf, scores)
    return scores.astype(np.float32)
