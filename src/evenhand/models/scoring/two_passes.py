"""Score texts whose first token alone follows the start token: the two passes of StereoSet and bias-bench.

The official programs condition the first token's probability on the start token alone. They score all later tokens in a
pass without the start token, so the second token is conditioned on the first alone, and positions are one lower (Nadeem
et al. 2021, section 4). Both passes use the same scoring engine, each with its own prefix tree.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenhand.models.scoring.tokens import TokenSequences
from evenhand.schema import ResponseError

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
Scores = tuple[NDArray[np.float32], Flags]
"""Log probabilities of tokens in nats, and which tokens did not fit in memory."""


@dataclass(frozen=True)
class StartPass:
    """One of the two passes: n sequences, and the positions of their tokens in the whole ones."""

    sequences: TokenSequences  # rows with nothing to score in this pass are empty and have errors
    sources: Ints  # (total,) index of each token among those of the complete sequences

    def write_scores(self, scores: Scores, into: Scores) -> None:
        """Write the scores of this pass into the scores of the complete sequences, in place."""
        scored = self.sequences.scored
        for values, target in zip(scores, into, strict=True):
            target[self.sources[scored]] = values[scored]


def reads_first_alone(whole: TokenSequences, lead: int) -> Flags:
    """Return, for each text (n,), True if its first token is scored in a separate pass.

    These are the texts that directly follow the start token.
    """
    places = whole.offsets[:-1] + lead
    inside = places < whole.offsets[1:]
    apart = np.zeros(len(whole.errors), dtype=bool)
    apart[inside] = whole.scored[places[inside]]
    return apart & (lead > 0)


def start_apart(whole: TokenSequences, lead: int, apart: Flags) -> tuple[StartPass, StartPass]:
    """Return two passes: one scores first tokens after the start token, the other all other tokens without it.

    `whole` are sequences that begin with `lead` start tokens. `apart` (n,) is True for texts whose first token is
    scored in the first pass (`reads_first_alone`).
    """
    n, lengths = len(whole.errors), np.diff(whole.offsets)
    row_of = np.repeat(np.arange(n), lengths)
    place = np.arange(len(row_of)) - whole.offsets[row_of]
    candidates = np.flatnonzero(whole.scored & apart[row_of])
    first = np.full(n, -1)
    rows, at = np.unique(row_of[candidates], return_index=True)
    first[rows] = place[candidates[at]]
    is_first = place == first[row_of]
    return (
        _pass(whole, row_of, place <= first[row_of], whole.scored & is_first),
        _pass(whole, row_of, place >= lead, whole.scored & ~is_first & (place > lead)),
    )


def _pass(whole: TokenSequences, row_of: Ints, read: Flags, wanted: Flags) -> StartPass:
    n = len(whole.errors)
    busy = np.bincount(row_of[wanted], minlength=n) > 0
    read = read & busy[row_of]
    sources = np.flatnonzero(read)
    lengths = np.bincount(row_of[sources], minlength=n)
    nothing = ResponseError.NO_SCORED_TOKEN
    sequences = TokenSequences(
        ids=whole.ids[sources],
        offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        scored=wanted[sources],
        starts=np.zeros(0, dtype=np.uint32),
        errors=[error or (None if some else nothing) for error, some in zip(whole.errors, busy, strict=True)],
        details=list(whole.details),
    )
    return StartPass(sequences, sources)


def score_start_apart(whole: TokenSequences, lead: int, score: Callable[[TokenSequences], Scores]) -> Scores:
    """Return the log probability of each token, from the pass to which it belongs, for `TokenSequences.likelihoods`.

    `whole` and `lead` are as in `start_apart`. `score` is the function of a scoring engine.
    """
    merged = np.zeros(len(whole.ids), dtype=np.float32), np.zeros(len(whole.ids), dtype=bool)
    for one in start_apart(whole, lead, reads_first_alone(whole, lead)):
        one.write_scores(score(one.sequences), merged)
    return merged
