"""Check at load whether a decoder supports a tree-shaped attention mask, because some silently give wrong results.

docs/evidence/architectures.md lists which architectures are right, raise an error, or are silently wrong. New
architectures appear faster than such a list can be updated, so each model is tested. Each path scores a full segment of
short random sequences. Every fourth pair, anywhere in the tree, is compared with plain forward passes. A 16-bit model
is checked in 32 bits, where rounding cannot hide an error.
"""

import re
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from copy import deepcopy
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from evenhand.models.scoring.head import largest_difference, tolerance
from evenhand.models.scoring.scorer import Scorer, ScoringPath
from evenhand.models.scoring.tokens import TokenSequences
from evenhand.schema import ModelError
from evenhand.weights import Budget, in_float32, is_out_of_memory

LENGTH, SHORTEST = 12, 4
TOLERANCE = 2e-4
# nats; usual difference between batch shapes in 16 bits, and the largest accepted one
LEAST_NOISE, MOST_NOISE = (
    0.024,
    0.1,
)
NOISE_ALLOWED = 4  # times the difference between plain passes in two batch shapes
MOST_LOGITS_TRIED = 1 << 27  # elements that a plain pass of one long sequence may have: 512 MiB in 32 bits
TURNS = re.compile(r"window|chunk|sliding|local|original_max|topk|block")
NO_TURNS = re.compile(r"expert|group|router|moe|percent|layer|pattern")
"""TURNS matches settings for lengths at which a model changes its computation. NO_TURNS matches similar names."""
FAILURES = (
    TypeError,
    ValueError,
    RuntimeError,
    IndexError,
    KeyError,
    AttributeError,
    AssertionError,
    NotImplementedError,
)
"""Types of errors that a model raises if it is run in a way that its code does not support."""


def choose_path(scorer: Scorer) -> tuple[ScoringPath, list[str]]:
    """Set `scorer.path` to the fastest path that agrees with plain forward passes.

    Returns the path and, for each faster path that was rejected, the reason. Raises ModelError if none
    agrees, and for a model whose predictions depend on later tokens (BERT without `is_decoder`, XLNet).
    """
    # below long paths, segments become longer than their size, and a decoder that masks by index within a window
    # (GPT-Neo) is correct until a segment exceeds the window; so also check a segment of twice the usual size
    usual, scorer.segment = scorer.segment, 2 * max(scorer.segment, 64)
    try:
        with in_float32(scorer.model) if _runs_in_float32(scorer) else nullcontext():
            check_causal(scorer)
        sequences = _short_sequences(scorer)
        rejected = _choose_agreeing_path(scorer, sequences, list(ScoringPath))
        scorer.tried = int(np.diff(sequences.offsets).max())
        return scorer.path, rejected
    finally:
        scorer.segment = usual
        scorer.tokens_given, scorer.budget = 0, Budget(scorer.budget.tokens, scorer.budget.most_targets)


def check_path_at_length(scorer: Scorer, longest: int) -> list[str]:
    """Check that `scorer.path` is correct for sequences of `longest` tokens, or set it to a path that is.

    Call it before sequences become longer than a length at which the model is known to change, or than twice
    the checked length. A window, a switch or a hash of positions affects only longer texts. Returns the
    reasons for paths that were rejected now. Raises ModelError if none is left. If memory is not sufficient,
    nothing is checked.
    """
    longest = min(longest, max(LENGTH, MOST_LOGITS_TRIED // scorer.vocabulary))
    crossed = any(scorer.tried <= turn < longest for turn in turning_points(scorer.model, SHORTEST))
    if longest <= scorer.tried or not (crossed or longest >= 2 * scorer.tried):
        return []
    usual, scorer.budget = scorer.budget, deepcopy(scorer.budget)
    given, scorer.tried = scorer.tokens_given, longest
    path, paths = scorer.path, list(ScoringPath)
    try:
        lengths = np.array([longest, longest, max(2, longest - 5), max(2, longest // 2)])
        return _choose_agreeing_path(scorer, _draw_sequences(scorer, lengths), paths[paths.index(path) :])
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        scorer.path = path  # sequences that do not fit in memory become error rows when they are scored
        return []
    finally:
        scorer.budget, scorer.tokens_given = usual, given


def turning_points(model: Any, above: int) -> list[int]:
    """Return the lengths in its configuration at which a model may change its computation, ascending."""
    found: set[int] = set()

    def search(settings: Any) -> None:
        for name, value in settings.items() if isinstance(settings, dict) else ():
            if isinstance(value, dict):
                search(value)
            elif (
                type(value) is int
                and value > above
                and TURNS.search(str(name))
                and not NO_TURNS.search(str(name))
            ):
                found.add(value)

    search(model.config.to_dict())
    return sorted(found)


def _runs_in_float32(scorer: Scorer) -> bool:
    """Return whether a 16-bit model can be checked in 32 bits; one with dtypes in its code cannot."""
    if scorer.dtype.itemsize >= 4:
        return True
    ids = torch.zeros(1, 2, dtype=torch.long, device=scorer.device)
    try:
        with in_float32(scorer.model), torch.inference_mode():
            scorer.model(input_ids=ids, use_cache=False)
    except FAILURES:
        return False
    return True


def why_not_causal(scorer: Scorer) -> str | None:
    """Return None if predictions do not depend on later tokens, otherwise a text on how much they do."""
    random = np.random.default_rng(1)
    ids = torch.from_numpy(random.integers(0, scorer.vocabulary, size=(2, LENGTH)))
    ids = without_padding(scorer.model, ids).to(scorer.device)
    keep = LENGTH // 2
    ids[1, :keep] = ids[0, :keep]
    with torch.inference_mode():
        first, second = (
            scorer.model(input_ids=row[None], use_cache=False).logits[0, :keep].float().log_softmax(-1)
            for row in ids
        )
    off = largest_difference(first, second)
    if off <= tolerance(first, scorer.dtype):
        return None
    return f"other tokens behind a text change what is predicted within it, by up to {off:.2g} nats"


def check_causal(scorer: Scorer) -> None:
    """Raise ModelError for a model whose predictions depend on later tokens.

    Its numbers would not be likelihoods of any text. Also raised for a model that reads too few tokens for
    the check.
    """
    longest = getattr(scorer.model.config.get_text_config(), "max_position_embeddings", None)
    if longest is not None and 0 <= longest < LENGTH:
        raise ModelError(
            f"{type(scorer.model).__name__} reads at most {longest} tokens, but at least {LENGTH} are required.",
            "Use a model with a longer context (n_positions or max_position_embeddings in its config.json).",
        )
    try:
        reason = why_not_causal(scorer)
    except FAILURES as error:
        raise ModelError(
            f"{type(scorer.model).__name__} does not accept plain texts: {describe_error(error)}",
            "Its weights may need another class of transformers. If it is a language model, please report it.",
        ) from error
    if reason is not None:
        raise ModelError(
            f"{type(scorer.model).__name__} is not causal: {reason}.",
            "If it is a masked language model, load it with architecture='masked'. If it was trained to generate "
            "text (as some BERT models are), set is_decoder: true in its config.json.",
        )


def _choose_agreeing_path(
    scorer: Scorer, sequences: TokenSequences, paths: Sequence[ScoringPath]
) -> list[str]:
    """Set the scorer's path to the first that agrees with plain passes; return the reasons for those before it."""
    exact = _runs_in_float32(scorer)
    judged = in_float32 if exact else nullcontext
    with judged(scorer.model):
        truth = _plain_log_probs(scorer, sequences)
    allowed = TOLERANCE
    if not exact:
        noise = np.abs(truth - _plain_log_probs(scorer, sequences, rows=1))[_compared_tokens(sequences)].max()
        allowed = float(np.clip(NOISE_ALLOWED * noise, LEAST_NOISE, MOST_NOISE))
    rejected: list[str] = []
    for path in paths:
        scorer.path = path
        with judged(scorer.model):
            reason = _why_not(scorer, sequences, truth, allowed)
        if reason is None and exact and scorer.dtype.itemsize < 4:
            # the structure is correct, but rounding may change single tokens by more (for example if two experts are
            # nearly tied)
            reason = _why_not(scorer, sequences, truth, MOST_NOISE, of=np.median)
        if reason is None:
            return rejected
        rejected.append(f"{path}: {reason}")
    raise ModelError(
        "The likelihoods of this model are not reliable, because they depend on how texts are batched: "
        + "; ".join(rejected),
        "Try dtype float32, or another attention implementation. If the error remains, please report the "
        "architecture.",
    )


def _why_not(
    scorer: Scorer,
    sequences: TokenSequences,
    truth: np.ndarray,
    allowed: float,
    of: Callable[[np.ndarray], Any] = np.max,
) -> str | None:
    """Return None if the scorer's path gives the correct values, otherwise the reason."""
    if scorer.path is not ScoringPath.FULL_LOGITS and scorer.head is None:
        return "the model names no output embeddings"
    try:
        scores, unfit = scorer.score(sequences)
    except FAILURES as error:
        if is_out_of_memory(error):
            raise
        return describe_error(error)
    if unfit.any():
        raise MemoryError("does not fit even alone in a batch")
    off = float(of(np.abs(scores - truth)[_compared_tokens(sequences)]))
    return None if off <= allowed else f"differs from plain forward passes by {off:.2g} nats"


def without_padding(model: Any, ids: Tensor) -> Tensor:
    """Replace the padding token in token ids by another one, for models that use it to count positions (RoBERTa,
    M2M100).
    """
    padding = getattr(model.config.get_text_config(), "pad_token_id", None)
    return ids if padding is None else torch.where(ids == padding, max(0, padding - 1) or padding + 1, ids)


def describe_error(error: Exception) -> str:
    """Return an error as one short line."""
    lines = str(error).splitlines()
    return f"{type(error).__name__}: {lines[0][:160]}" if lines else type(error).__name__


def _short_sequences(scorer: Scorer) -> TokenSequences:
    # pairs share half of their tokens, so this number of sequences fills a segment
    count = scorer.segment // 8
    length = max(SHORTEST, min(LENGTH, scorer.reach or LENGTH))
    # shorten every third sequence, so that padding is checked as well
    return _draw_sequences(scorer, np.where(np.arange(count) % 3 == 2, max(2, length - 5), length))


def _draw_sequences(scorer: Scorer, lengths: NDArray[np.int64]) -> TokenSequences:
    """Return random sequences; every second one begins with half of the previous one."""
    random = np.random.default_rng(0)
    count, length = len(lengths), int(lengths.max())
    drawn = torch.from_numpy(random.integers(0, scorer.vocabulary, size=(count, length), dtype=np.int32))
    ids = without_padding(scorer.model, drawn).numpy()
    ids[1::2, : length // 2] = ids[: len(ids[1::2]) * 2 : 2, : length // 2]
    inside = np.arange(length) < lengths[:, None]
    # sequences that are not compared must still be computed, so their last token is scored
    last = np.arange(length) == lengths[:, None] - 1
    scored = inside & np.where(_is_compared(count)[:, None], np.arange(length) > 0, last)
    return TokenSequences(
        ids=ids[inside],
        offsets=np.concatenate([[0], np.cumsum(lengths)]),
        scored=scored[inside],
        starts=np.zeros(0, dtype=np.uint32),
        errors=[None] * count,
        details=[None] * count,
    )


def _is_compared(count: int) -> NDArray[np.bool_]:
    """Return which sequences are compared, (count,): every fourth pair and the last, some of them shortened."""
    pair = np.arange(count) // 2
    return np.asarray((pair % 4 == 0) | (pair == pair[-1]))


def _compared_tokens(sequences: TokenSequences) -> NDArray[np.bool_]:
    """Return which tokens are compared, (total,)."""
    lengths = np.diff(sequences.offsets)
    inside = np.repeat(_is_compared(len(lengths)), lengths)
    compared: NDArray[np.bool_] = sequences.scored & inside
    return compared


@torch.inference_mode()
def _plain_log_probs(scorer: Scorer, sequences: TokenSequences, rows: int | None = None) -> np.ndarray:
    """Return log probabilities of the whole model, for a number of rows of equal length at a time; 0 if none is
    compared."""
    truth = np.zeros(len(sequences.ids), dtype=np.float32)
    lengths = np.diff(sequences.offsets)
    rows = rows or max(1, MOST_LOGITS_TRIED // (int(lengths.max()) * scorer.vocabulary))
    for length in np.unique(lengths):  # rows of equal length need neither padding nor mask
        members = np.flatnonzero((lengths == length) & _is_compared(len(lengths)))
        for first in range(0, len(members), rows):
            places = sequences.offsets[members[first : first + rows]][:, None] + np.arange(length)
            ids = torch.from_numpy(sequences.ids[places].astype(np.int64)).to(scorer.device)
            logits = scorer.model(input_ids=ids, use_cache=False).logits[:, :-1].float()
            target_values = logits.gather(2, ids[:, 1:, None])[..., 0] - logits.logsumexp(-1)
            truth[places[:, 1:]] = target_values.cpu().numpy()
    return truth
