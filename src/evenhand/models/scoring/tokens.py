"""Convert texts to token sequences, with tokens before and after, and mark which tokens are scored."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.models.contract import Likelihoods, Texts
from evenhand.schema import ResponseError


@dataclass(frozen=True)
class TokenSequences:
    """Token ids of n texts of different lengths, with the tokens before them. Rows with an error are empty."""

    ids: NDArray[np.int32]  # (total,)
    offsets: NDArray[np.int64]  # (n + 1,)
    scored: NDArray[np.bool_]  # (total,)
    starts: NDArray[np.uint32]  # (total,) or empty if not requested; first character in the text
    errors: list[ResponseError | None]
    details: list[str | None]

    def likelihoods(self, scores: NDArray[np.float32], unfit: NDArray[np.bool_] | None = None) -> Likelihoods:
        """Return the result of scoring from the log probability of each token.

        `scores` (total,) are in nats; only those of scored tokens are used. `unfit` (total,) is True for tokens for
        which memory was not sufficient.
        """
        errors, details = list(self.errors), list(self.details)
        row_of = np.repeat(np.arange(len(errors)), np.diff(self.offsets))
        unfit = np.zeros(len(scores), dtype=bool) if unfit is None else unfit
        for i in np.unique(row_of[unfit]):
            errors[i], details[i] = ResponseError.OUT_OF_MEMORY, "does not fit even alone in a batch"
        for i in np.unique(row_of[self.scored & ~unfit & ~np.isfinite(scores)]):
            if errors[i] is None:
                errors[i], details[i] = ResponseError.NOT_FINITE, "the model gave NaN or infinity"
        bad = np.array([error is not None for error in errors], dtype=bool)
        keep = self.scored & ~bad[row_of]
        counts = np.bincount(row_of[keep], minlength=len(errors))
        return Likelihoods(
            offsets=np.concatenate([[0], np.cumsum(counts)]),
            log_probs=scores[keep],
            token_ids=self.ids[keep],
            starts=self.starts[keep] if len(self.starts) else self.starts,
            errors=errors,
            details=details,
        )


def encode(
    tokenizer: Any,
    batch: Texts,
    *,
    before: Sequence[int] = (),
    after: Sequence[int] = (),
    longest: int | None = None,
) -> TokenSequences:
    """Encode texts for a causal model.

    Parameters
    ----------
    batch : Texts
        Context and text are encoded together as one string (`Texts.joined`). A token that crosses the boundary counts
        as part of the text.
    before : sequence of int
        Token ids before everything, such as the beginning of sequence. They are not scored.
    after : sequence of int
        Token ids after the text. They are scored unless the text has a span.
    longest : int
        Maximum number of tokens. Longer sequences become TOO_LONG rows.

    Notes
    -----
    The first token of a sequence is never scored.
    """
    texts, spans, n = batch.texts, batch.spans, len(batch.texts)
    errors: list[ResponseError | None] = [None] * n
    details: list[str | None] = [None] * n
    strings, beginnings = batch.joined()
    boundaries = np.array(beginnings, dtype=np.int64)
    by_character = batch.want_starts or spans is not None or bool(boundaries.any())
    backend = tokenizer.backend_tokenizer
    backend.no_truncation()
    backend.no_padding()
    encode_all = backend.encode_batch if by_character else backend.encode_batch_fast
    encodings = encode_all(strings, add_special_tokens=False)

    pieces: list[list[int]] = []
    scored_pieces: list[NDArray[np.bool_]] = []
    start_pieces: list[NDArray[np.int64]] = []
    lead, tail = list(before), list(after)
    for i, encoding in enumerate(encodings):
        ids = encoding.ids
        if not texts[i].strip():
            errors[i], details[i] = ResponseError.EMPTY_TEXT, "the text is empty or white space"
        elif longest is not None and len(lead) + len(ids) + len(tail) > longest:
            errors[i] = ResponseError.TOO_LONG
            details[i] = f"{len(lead) + len(ids) + len(tail)} tokens; the model takes at most {longest}"
        if errors[i] is not None:
            pieces.append([])
            scored_pieces.append(np.zeros(0, dtype=bool))
            start_pieces.append(np.zeros(0, dtype=np.int64))
            continue
        sequence = lead + ids + tail
        scored = np.ones(len(sequence), dtype=bool)
        scored[: len(lead)] = False
        if by_character:
            places = np.array(encoding.offsets, dtype=np.int64).reshape(-1, 2) - boundaries[i]
            inside = places[:, 1] > 0
            span = spans[i] if spans is not None else None
            if span is not None:
                inside &= (places[:, 0] < span[1]) & (places[:, 1] > span[0])
                scored[len(lead) + len(ids) :] = False
            scored[len(lead) : len(lead) + len(ids)] = inside
            beyond = np.full(len(tail), len(texts[i]))
            start_pieces.append(np.concatenate([np.zeros(len(lead)), places[:, 0], beyond]))
        scored[0] = False
        if not scored.any():
            errors[i] = ResponseError.NO_SCORED_TOKEN
            details[i] = "no token has anything before it to be predicted from (one token, no start token)"
            sequence, scored = [], scored[:0]
            if by_character:
                start_pieces[-1] = start_pieces[-1][:0]
        pieces.append(sequence)
        scored_pieces.append(scored)

    lengths = np.array([len(p) for p in pieces], dtype=np.int64)
    flat = [token for piece in pieces for token in piece]
    empty = np.zeros(0, dtype=np.int64)
    starts = np.concatenate([empty, *start_pieces]) if by_character else empty
    return TokenSequences(
        ids=np.array(flat, dtype=np.int32),
        offsets=np.concatenate([[0], np.cumsum(lengths)]),
        scored=np.concatenate([np.zeros(0, dtype=bool), *scored_pieces]),
        starts=np.maximum(starts, 0).astype(np.uint32),
        errors=errors,
        details=details,
    )
