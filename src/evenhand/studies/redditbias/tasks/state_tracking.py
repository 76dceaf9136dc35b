"""Dialogue state tracking: train a language model with one new output to answer yes or no, and test it.

The published program has two quirks. It reads the last column of a batch that is padded on the right without a mask, so
for all but the longest question the output reads padding. It also cuts the end of long questions, which is the slot
value in question. Both are corrected unless `as_published` is set.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from evenhand.mitigations.training import Batch, Examples, TrainingOptions, pad_token, prepared_model
from evenhand.prompts.dialogue_tasks import StatePair
from evenhand.weights import Budget, run_batches

if TYPE_CHECKING:
    from torch import Tensor

    from evenhand.studies.redditbias.tasks.state_classifier import StateClassifier

LONGEST = 128
ADDED = 3
"""Tokens that the published program adds: <bos>, <eos> and <pad>. It uses only <pad>."""
TOKENS_A_BATCH = 4096


@dataclass(frozen=True, kw_only=True)
class TrackingOptions:
    """Options of training dialogue state tracking: one epoch in batches of 48 questions.

    ``as_published`` reproduces the quirks of the published program. ``longest`` is the maximum number of tokens of a
    question, reduced to the model's context length.

    References
    ----------
    - Barikeri et al. 2021, section 5.1. The published program uses batches of 12, accumulated over 4 steps.
    """

    as_published: bool = False
    longest: int = LONGEST
    training: TrainingOptions = field(
        default_factory=lambda: TrainingOptions(epochs=1, batch_size=12, accumulation=4)
    )


class YesOrNo:
    """Binary cross-entropy of the answers in nats per question (see `Objective`).

    as_published: use the mean over batches, and no mask.
    """

    def __init__(self, as_published: bool):
        self.pooled, self.masked = not as_published, not as_published

    def weights(self, batch: Batch) -> Mapping[str, float]:
        """Return the weight of the only term, `state`."""
        return {"state": 1.0}

    def sizes(self, batch: Batch) -> Mapping[str, float]:
        """Return the number of questions."""
        return {"state": len(batch)}

    def sums(self, model: Any, batch: Batch) -> Mapping[str, "Tensor"]:
        """Return the sum of the losses of the questions, in nats, under the key `state`."""
        from torch.nn.functional import binary_cross_entropy_with_logits

        answers = model(batch.input_ids, batch.attention_mask if self.masked else None)
        right = batch.values["is_new"].to(answers.dtype)
        return {"state": binary_cross_entropy_with_logits(answers, right, reduction="sum")}


def track_states(
    language_model: Any,
    questions: Sequence[StatePair],
    asked: Sequence[StatePair],
    options: TrackingOptions,
    folder: Path | str,
    *,
    device: str = "auto",
) -> pl.DataFrame:
    """Train a model to answer yes/no questions of dialogue state tracking, and ask it other questions.

    Parameters
    ----------
    language_model : LanguageModel
        A causal model with ``model`` and ``tokenizer``, in 32 bits. Its weights are changed.
    questions, asked : sequence
        Training questions, and questions of the test set.
    folder : path
        Folder of the training. An existing training is resumed.

    Returns
    -------
    polars.DataFrame
        One row per test question: dialogue, turn, slot, value, is_new, log_odds (of yes), said_yes (True if log_odds
        is 0 or more).
    """
    from evenhand.mitigations.training import train
    from evenhand.studies.redditbias.tasks.state_classifier import StateClassifier

    causal, tokenizer = language_model.model, language_model.tokenizer
    longest = most_tokens(causal, options.longest)
    prepared_model(causal, options.training)
    pad = pad_token(tokenizer)
    if options.as_published:
        pad = _with_published_tokens(causal, options.training.seed)
    classifier = StateClassifier(causal, options.training.seed)
    objective = YesOrNo(options.as_published)
    examples = encoded_questions(tokenizer, questions, longest, cut_end=options.as_published)
    decided = {"task": "state tracking", "as_published": options.as_published, "longest": longest}
    train(classifier, examples, objective, options.training, folder, pad=pad, device=device, decided=decided)
    test = encoded_questions(tokenizer, asked, longest, cut_end=options.as_published)
    log_odds = _answers(classifier, test, pad, objective.masked, options.training.batch_size)
    return pl.DataFrame(
        {
            "dialogue": [pair.dialogue for pair in asked],
            "turn": [pair.turn for pair in asked],
            "slot": [pair.slot for pair in asked],
            "value": [pair.value for pair in asked],
            "is_new": [pair.is_new for pair in asked],
            "log_odds": log_odds,
            "said_yes": log_odds >= 0,
        }
    )


def encoded_questions(
    tokenizer: Any, questions: Sequence[StatePair], longest: int, *, cut_end: bool
) -> Examples:
    """Return questions as tokens: system, " [SEP] ", user, and then the slot value.

    Parameters
    ----------
    longest
        Maximum number of tokens of a question.
    cut_end
        Cut the end of longer questions, as published. Otherwise the oldest text is cut, and never the slot value.
    """
    if cut_end:
        whole = tokenizer(
            [f"{one.front} {one.slot_value}" for one in questions], add_special_tokens=False, verbose=False
        )
        ids = [np.array(tokens[:longest], dtype=np.int64) for tokens in whole["input_ids"]]
    else:
        fronts = tokenizer([one.front for one in questions], add_special_tokens=False, verbose=False)[
            "input_ids"
        ]
        ends = tokenizer(
            [f" {one.slot_value}" for one in questions], add_special_tokens=False, verbose=False
        )["input_ids"]
        ids = []
        for front, end in zip(fronts, ends, strict=True):
            room = max(0, longest - len(end))
            ids.append(np.array([*front[max(0, len(front) - room) :], *end[:longest]], dtype=np.int64))
    return Examples(ids, values={"is_new": np.array([one.is_new for one in questions])})


def most_tokens(causal: Any, longest: int) -> int:
    """Return the smaller of `longest` and the model's context length."""
    positions = getattr(causal.config.get_text_config(), "max_position_embeddings", None)
    return min(longest, positions) if positions and positions > 0 else longest


def _with_published_tokens(causal: Any, seed: int) -> int:
    """Give the model the three added tokens, and return the one to pad with."""
    rows: int = causal.get_input_embeddings().weight.shape[0]
    import torch

    with torch.random.fork_rng([]):
        torch.manual_seed(seed)
        causal.resize_token_embeddings(rows + ADDED, mean_resizing=False)
    return rows + ADDED - 1


def _answers(
    classifier: "StateClassifier", asked: Examples, pad: int, masked: bool, batch_size: int
) -> np.ndarray[Any, np.dtype[np.float64]]:
    import torch

    answers = np.zeros(len(asked))
    device = next(classifier.parameters()).device
    classifier.eval()

    def run(rows: np.ndarray[Any, np.dtype[np.int64]]) -> None:
        batch = asked.batch(rows, pad).to(device)
        with torch.no_grad():
            found = classifier(batch.input_ids, batch.attention_mask if masked else None)
        answers[rows] = found.double().cpu().numpy()

    if masked:
        lengths = np.array([len(ids) for ids in asked.ids])
        run_batches(lengths, np.ones_like(lengths), Budget(TOKENS_A_BATCH, len(lengths)), run)
    else:
        # the batch determines its last column, so batches are made as published: in order
        for first in range(0, len(asked), batch_size):
            run(np.arange(first, min(first + batch_size, len(asked))))
    return answers
