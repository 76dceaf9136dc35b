"""Does this decoder honour a tree-shaped attention mask? Tried at load, because some are silently wrong.

methods/engine.md lists who is right, who raises and who is silently wrong; new architectures appear
faster than such lists, so the answer is measured: a full segment of short random sequences is scored by
each path, and those of every fourth pair, wherever the tree has put them, are compared with plain forward passes.
"""

import numpy as np
import torch

from evenhand.models.scoring.scorer import Scorer, ScoringPath
from evenhand.models.scoring.tokens import TokenSequences
from evenhand.schema import ModelError
from evenhand.weights import Budget

LENGTH = 12
TOLERANCE = {torch.float32: 2e-4, torch.float64: 2e-4}
TOLERANCE_16_BIT = 0.1  # bf16 alone differs by up to 0.024 between batch shapes; a wrong mask by far more


def choose_path(scorer: Scorer) -> tuple[ScoringPath, list[str]]:
    """Set `scorer.path` to the fastest path that agrees with plain forward passes.

    Returns the path and, for each faster path that was rejected, why. Raises ModelError if none agrees.
    """
    # Segments grow past their size below long paths, and a decoder that masks by index inside a window
    # (GPT-Neo) is right until a segment outgrows it: so try one twice as large as usual.
    usual, scorer.segment = scorer.segment, 2 * max(scorer.segment, 64)
    try:
        return _first_that_agrees(scorer)
    finally:
        scorer.segment = usual


def _first_that_agrees(scorer: Scorer) -> tuple[ScoringPath, list[str]]:
    sequences = _sequences(scorer)
    compared = _compared(sequences)
    truth = _plain(scorer, sequences, compared)
    tolerance = TOLERANCE.get(scorer.dtype, TOLERANCE_16_BIT)
    rejected = []
    for path in ScoringPath:
        if path is not ScoringPath.FULL_LOGITS and scorer.head is None:
            rejected.append(f"{path}: the model names no output embeddings")
            continue
        scorer.path = path
        try:
            scores, _ = scorer.score(sequences)
        except (
            TypeError,
            ValueError,
            RuntimeError,
            IndexError,
            AttributeError,
            NotImplementedError,
        ) as error:
            rejected.append(f"{path}: {type(error).__name__}: {str(error).splitlines()[0][:160]}")
            continue
        off = float(np.abs(scores - truth)[compared].max())
        if off <= tolerance:
            scorer.tokens_given, scorer.budget = 0, Budget(scorer.budget.tokens, scorer.budget.most_targets)
            return path, rejected
        rejected.append(f"{path}: differs from plain forward passes by {off:.2g} nats")
    raise ModelError(
        "This model's likelihoods depend on how texts are batched, so none could be trusted: "
        + "; ".join(rejected),
        "Try dtype float32, or another attention implementation; if it persists, report the architecture.",
    )


def _sequences(scorer: Scorer) -> TokenSequences:
    random = np.random.default_rng(0)
    vocabulary = int(scorer.model.get_input_embeddings().weight.shape[0])
    count = scorer.segment // 8  # pairs share half of their tokens: enough nodes to fill a segment
    ids = random.integers(0, vocabulary, size=(count, LENGTH), dtype=np.int32)
    ids[1::2, : LENGTH // 2] = ids[: len(ids[1::2]) * 2 : 2, : LENGTH // 2]
    # Every third sequence is cut short, so that padding is tried as well.
    lengths = np.where(np.arange(count) % 3 == 2, LENGTH - 5, LENGTH)
    inside = np.arange(LENGTH) < lengths[:, None]
    # What is not compared must still be run: its last token asks for all in front of it.
    scored = inside & np.where(
        _in_compared_pair(count)[:, None], np.arange(LENGTH) > 0, np.arange(LENGTH) == lengths[:, None] - 1
    )
    return TokenSequences(
        ids=ids[inside],
        offsets=np.concatenate([[0], np.cumsum(lengths)]),
        scored=scored[inside],
        starts=np.zeros(0, dtype=np.uint32),
        errors=[None] * count,
        details=[None] * count,
    )


def _in_compared_pair(count: int) -> np.ndarray:
    pair = np.arange(count) // 2
    return (pair % 4 == 0) | (pair == pair[-1])  # some are cut short, some are not


def _compared(sequences: TokenSequences) -> np.ndarray:
    """Which tokens are compared, (total,)."""
    lengths = np.diff(sequences.offsets)
    return sequences.scored & np.repeat(_in_compared_pair(len(lengths)), lengths)


@torch.inference_mode()
def _plain(scorer: Scorer, sequences: TokenSequences, compared: np.ndarray) -> np.ndarray:
    """Log probabilities of the tokens to be compared, (total,), 0 elsewhere."""
    truth = np.zeros(len(sequences.ids), dtype=np.float32)
    lengths = np.diff(sequences.offsets)
    for length in np.unique(lengths):  # equal lengths need no padding and no mask
        members = np.flatnonzero((lengths == length) & compared[sequences.offsets[1:] - 1])
        places = sequences.offsets[members][:, None] + np.arange(length)
        ids = torch.from_numpy(sequences.ids[places].astype(np.int64)).to(scorer.device)
        logits = scorer.model(input_ids=ids, use_cache=False).logits[:, :-1].float()
        target_values = logits.gather(2, ids[:, 1:, None])[..., 0] - logits.logsumexp(-1)
        truth[places[:, 1:]] = target_values.cpu().numpy()
    return truth
