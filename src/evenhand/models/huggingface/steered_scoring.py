"""Score given tokens under combined distributions: all contexts and many texts in one pass.

A causal model reads each context before the text (`group_with_contexts`, `scores`, `scores_at_tokens`). An
encoder-decoder model reads it in its encoder (`steered_pairs`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from evenhand.models.contract import Texts
from evenhand.models.scoring import (
    MOST_LOGITS,
    Scorer,
    Scores,
    ScoringPath,
    TextPairs,
    TokenSequences,
    reads_first_alone,
    start_apart,
)
from evenhand.models.writing import CausalState, Steering, Writer, common_beginnings
from evenhand.schema import ResponseError, Unsupported
from evenhand.weights import Budget, run_batches

Floats = NDArray[np.float32]


@dataclass
class Groups:
    """Texts as groups of token sequences with a common end: the text alone, and the text after each context.

    ``sequences[i][k]`` are the token ids of text i with context k. ``places[i][k]`` are the positions of the scored
    tokens, which are the same tokens for all k.
    """

    sequences: list[list[list[int]]] = field(default_factory=list)
    places: list[list[NDArray[np.int64]]] = field(default_factory=list)

    def add(self, sequences: list[list[int]], places: list[NDArray[np.int64]]) -> None:
        """Add one text."""
        self.sequences.append(sequences)
        self.places.append(places)

    def targets(self, i: int) -> list[int]:
        """Return the scored tokens of text i."""
        return [self.sequences[i][0][place] for place in self.places[i][0]]


def group_with_contexts(
    regular: TokenSequences,
    behind: Sequence[TokenSequences],
    contexts: Sequence[Sequence[int]],
    lead: int,
    longest: int | None = None,
) -> tuple[Groups, list[int], TokenSequences]:
    """Return texts, and the same texts after each context, if none of them has an error.

    If the tokenizer merges context and text, so that other tokens would be scored, the context's own tokens are put
    before the text's own tokens, as published (Schick et al. 2021).

    contexts: tokens of each context alone. lead: number of tokens before everything. longest: maximum number of tokens
    of the model. Returns the groups, the row of each group, and `regular` with all errors.
    """
    groups, rows = Groups(), []
    errors, details = list(regular.errors), list(regular.details)
    for i in range(len(errors)):
        faulty = next((other for other in behind if other.errors[i] is not None), None)
        if errors[i] is None and faulty is not None:
            errors[i], details[i] = faulty.errors[i], f"behind a context: {faulty.details[i]}"
        if errors[i] is not None:
            continue
        ids, places = _row(regular, i)
        sequences, all_places = [ids], [places]
        for other, context in zip(behind, contexts, strict=True):
            joined, joined_places = _row(other, i)
            if [joined[place] for place in joined_places] != [ids[place] for place in places]:
                joined, joined_places = [*ids[:lead], *context, *ids[lead:]], places + len(context)
            sequences.append(joined)
            all_places.append(joined_places)
        most = max(map(len, sequences))
        if longest is not None and most > longest:
            errors[i] = ResponseError.TOO_LONG
            details[i] = f"{most} tokens behind a context; the model takes at most {longest}"
            continue
        groups.add(sequences, all_places)
        rows.append(i)
    return groups, rows, TokenSequences(**{**vars(regular), "errors": errors, "details": details})


def scores(
    network: torch.nn.Module, writer: Writer, scorer: Scorer, groups: Groups, steering: Steering
) -> tuple[list[Floats], set[int]]:
    """Return the log probability (nats) of each scored token under the combined distributions, and texts that are too
    long.

    `network` is the causal model, `writer` its generation engine, and `scorer` its scoring engine. Raises Unsupported
    for models that cannot be steered.
    """
    writer.check_steerable()
    state = writer.state
    if not isinstance(state, CausalState):
        raise Unsupported(
            f"{type(network).__name__} does not support steering, because its contexts would have to stay in "
            f"{state.name}.",
            "Use an instruction before the texts (--mitigate prefix=...), or another model.",
        )
    common = common_beginnings(groups.sequences, steering.rows) if groups.sequences else []
    for k, beginning in enumerate(common):
        # read the token before the first scored token with the text, because its logits are needed
        reach = min(int(places[k][0]) for places in groups.places) - 1
        common[k] = beginning[:reach] if writer.reason_for_whole_readings is None else []
    values_of: list[Floats] = [np.zeros(0, dtype=np.float32)] * len(groups.sequences)
    lengths = np.array([max(map(len, group)) for group in groups.sequences], dtype=np.int64)
    targets = np.array([len(places[0]) for places in groups.places], dtype=np.int64)
    with torch.inference_mode(), scorer.layers.activate():
        beginnings = state.beginnings(common) if common else None

        def run(chosen: NDArray[np.int64]) -> None:
            assert beginnings is not None, "nothing is run for a missing text"
            sequences = [sequence for i in chosen for sequence in groups.sequences[i]]
            tails = [sequence[len(common[j % steering.rows]) :] for j, sequence in enumerate(sequences)]
            ids, seen, cache = beginnings.input_for_tails(tails)
            outputs = _Outputs(network, scorer, state.inputs(ids, seen, cache))
            width = ids.shape[1]
            first_rows = np.arange(len(chosen)) * steering.rows
            positions = np.concatenate(  # (tokens, rows per group), each one position before the token
                [
                    # positions are counted from the end, because all rows end at the last column
                    (np.stack(groups.places[i], axis=1) - 1 - np.array([*map(len, groups.sequences[i])]))
                    + width * (1 + first + np.arange(steering.rows))
                    for first, i in zip(first_rows, chosen, strict=True)
                ]
            )
            tokens = [token for i in chosen for token in groups.targets(int(i))]
            values = _combine_scores(outputs, positions, tokens, steering)
            parts = np.split(values, np.cumsum(targets[chosen])[:-1])
            for i, part in zip(chosen, parts, strict=True):
                values_of[i] = part

        budget = scorer.budget
        # the output head processes a few rows at a time for any batch size
        budget.most_targets = max(1, int(targets.sum()))
        unfit = (
            run_batches(lengths[:, None].repeat(steering.rows, 1), targets, budget, run)
            if len(lengths)
            else []
        )
    return values_of, set(unfit)


class _Outputs:
    """Logits of one batch, computed only at requested positions."""

    def __init__(self, network: torch.nn.Module, scorer: Scorer, inputs: dict[str, Any]):
        self.head = None if scorer.path is ScoringPath.FULL_LOGITS else scorer.head
        if self.head is None:
            values = network(**inputs, use_cache=True).logits
        else:
            values = scorer.decoder(**inputs, use_cache=True).last_hidden_state
        self.values = values.flatten(0, 1)
        self.vocabulary = self.values.shape[-1] if self.head is None else self.head.vocabulary

    def logits(self, positions: Tensor) -> Tensor:
        """Return logits in 32 bits, (..., vocabulary)."""
        values = self.values[positions]
        return values.float() if self.head is None else self.head.logits(values)


def _combine_scores(
    outputs: _Outputs, positions: NDArray[np.int64], tokens: Sequence[int], steering: Steering
) -> Floats:
    device = outputs.values.device
    places, wanted = torch.from_numpy(positions).to(device), torch.tensor(tokens, device=device)
    step = max(1, MOST_LOGITS // (outputs.vocabulary * steering.rows))
    parts = []
    for first in range(0, len(tokens), step):
        log_probs = steering.combine_logits(outputs.logits(places[first : first + step]))
        parts.append(log_probs.gather(1, wanted[first : first + step, None])[:, 0])
    return torch.cat(parts).cpu().numpy()


def _row(sequences: TokenSequences, i: int) -> tuple[list[int], NDArray[np.int64]]:
    part = slice(sequences.offsets[i], sequences.offsets[i + 1])
    return sequences.ids[part].tolist(), np.flatnonzero(sequences.scored[part])


def scores_at_tokens(
    sequences: TokenSequences, rows: Sequence[int], found: Sequence[Floats], unfit: set[int]
) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the scores of groups at the positions of their tokens, (total,), and which tokens could not be scored."""
    values = np.zeros(len(sequences.ids), dtype=np.float32)
    lacking = np.zeros(len(values), dtype=bool)
    for k, i in enumerate(rows):
        part = slice(sequences.offsets[i], sequences.offsets[i + 1])
        if k in unfit:
            lacking[part] = True
        else:
            values[part][sequences.scored[part]] = found[k]
    return values, lacking


ScoreSteered = Callable[[TokenSequences, Sequence[TokenSequences], int], tuple[TokenSequences, Scores]]
"""Function of texts, the same texts after each context, and the number of tokens before everything; it returns the
texts with all errors, and scores.
"""


def steered_apart(
    regular: TokenSequences, behind: Sequence[TokenSequences], lead: int, score: ScoreSteered
) -> tuple[TokenSequences, Scores]:
    """Score texts and the same texts after each context in the two passes of `start_apart`, each steered separately.

    regular, behind, lead: as in `group_with_contexts`. The first token of a text follows start token and context;
    all other tokens follow only the context.
    """
    apart = reads_first_alone(regular, lead)
    merged = np.zeros(len(regular.ids), dtype=np.float32), np.zeros(len(regular.ids), dtype=bool)
    errors, details = list(regular.errors), list(regular.details)
    others = [start_apart(other, lead, apart) for other in behind]
    for k, own in enumerate(start_apart(regular, lead, apart)):
        steered, found = score(
            own.sequences, [passes[k].sequences for passes in others], lead if k == 0 else 0
        )
        own.write_scores(found, merged)
        for i, error in enumerate(steered.errors):
            if own.sequences.errors[i] is None and error is not None:
                errors[i], details[i] = error, steered.details[i]
    return replace(regular, errors=errors, details=details), merged


Pairing = Callable[[Texts], TextPairs]
"""Function that encodes texts and the encoder's input for each (see `text_pairs`)."""
Logits = Callable[[TextPairs, NDArray[np.int64], NDArray[np.int64]], Tensor]
"""Function of pairs, some of their rows, and target positions in the flattened batch; it returns
(places, vocabulary).
"""


def steered_pairs(
    pairing: Pairing,
    logits: Logits,
    budget: Budget,
    silence: str | None,
    batch: Texts,
    steering: Steering,
) -> tuple[TextPairs, list[NDArray[np.float32]], set[int]]:
    """Return texts with their own contexts, log probabilities by pair (nats), and the pairs that do not fit in memory.

    pairing, logits: functions that encode pairs and compute logits. budget: batch sizes. silence: input of the encoder
    for a text without a context.
    """
    count, contexts = len(batch.texts), batch.all_contexts
    read = [steering.front + context for context in contexts]
    for extra in steering.contexts:
        read += [steering.front + extra + (context or silence or "") for context in contexts]
    pairs = pairing(Texts([*batch.texts] * steering.rows, read, batch.all_spans * steering.rows))
    rows = range(count)
    groups: dict[int, list[int]] = {}  # keyed by the pair of a text and its own context
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
            log_probs = steering.combine_logits(evaluated.view(-1, steering.rows, evaluated.shape[-1]))
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
