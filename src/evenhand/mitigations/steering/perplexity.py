"""Compute the perplexity of a long text in windows, for a model and for the same model with a steering mitigation."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenhand.mitigations.steering.model import SteeredModel
from evenhand.models import LanguageModel
from evenhand.models.huggingface import CausalModel
from evenhand.models.writing import Steering
from evenhand.schema import Unsupported, UsageError, checked


@dataclass(frozen=True)
class WindowedPerplexity:
    """The perplexity of a long text that was read in windows; the result of `windowed_perplexity`.

    Attributes
    ----------
    perplexity : float
        exp of the mean negative log probability of the scored tokens.
    as_published : float or None
        Perplexity as the published program computes it. That program also counts the first token of each
        window, although nothing predicts it, and gives it the mean of its window. None if windows overlap,
        because the program is wrong for them.
    tokens : int
        Number of scored tokens.
    windows : int
        Number of windows.

    References
    ----------
    Schick et al. (2021), "Self-Diagnosis and Self-Debiasing: A Proposal for Reducing Corpus-Based Bias in
    NLP", TACL 9, section 4.3.
    """

    perplexity: float
    as_published: float | None
    tokens: int
    windows: int


@checked
def windowed_perplexity(
    model: LanguageModel, text: str, *, window: int = 992, stride: int | None = None
) -> WindowedPerplexity:
    """Return the perplexity of a long text under a model.

    Use it to check how much a steering mitigation harms fluency. Compare the perplexity with the mitigation
    to the perplexity without it.

    Parameters
    ----------
    model : LanguageModel
        A causal Hugging Face model, alone or with a steering mitigation such as `SelfDebiasing`.
    text : str
        A long text, for example the test part of WikiText joined with empty lines.
    window : int, default 992
        Number of tokens in each window, at least 2. With the published 992, 32 of GPT-2's 1,024 positions
        remain for prefixes.
    stride : int, optional
        Number of tokens from the start of one window to the start of the next, 1 to `window`. Each window
        scores only its new tokens. Default: `window`, so windows do not overlap, as published.

    Returns
    -------
    WindowedPerplexity
        The perplexity and the number of scored tokens.

    Raises
    ------
    UsageError
        `window` or `stride` is out of range, a window with its prefix is too long for the model, or the text
        has only one token.
    Unsupported
        The model is of another kind, or a window does not fit in memory.

    Notes
    -----
    The published program averages over too many tokens if windows overlap. This function does not.

    References
    ----------
    Schick et al. (2021), "Self-Diagnosis and Self-Debiasing: A Proposal for Reducing Corpus-Based Bias in
    NLP", TACL 9, section 4.3.
    """
    step = window if stride is None else stride
    if window < 2 or not 1 <= step <= window:
        raise UsageError(
            f"window must be at least 2 tokens, and stride from 1 to window, got window={window}, stride={stride}."
        )
    steering = model.steering if isinstance(model, SteeredModel) else None
    base = model.base if isinstance(model, SteeredModel) else model
    if not isinstance(base, CausalModel):
        raise Unsupported(
            f"{model.fingerprint.get('name', 'This model')} does not support perplexity by windows of tokens.",
            "Use a Hugging Face causal model, by itself or with a mitigation that steers it.",
        )
    ids = base.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
    starts = [0, *(first for first in range(step, len(ids), step) if first + window - step < len(ids))]
    windows = [ids[first : first + window] for first in starts]
    # position of the first token that is scored
    fresh = [
        1,
        *([1 if step == window else window - step] * (len(windows) - 1)),
    ]
    scored = [(tokens, first) for tokens, first in zip(windows, fresh, strict=True) if first < len(tokens)]
    if not scored:
        raise UsageError(
            "The text has fewer than two tokens, so it has no perplexity.", "Give a longer text."
        )
    values = _window_log_probs(
        base, [tokens for tokens, _ in scored], [first for _, first in scored], steering
    )
    count = sum(map(len, values))
    published = -sum(float(part.mean()) * (len(part) + 1) for part in values) / sum(
        len(part) + 1 for part in values
    )
    return WindowedPerplexity(
        perplexity=math.exp(-sum(float(part.sum()) for part in values) / count),
        as_published=math.exp(published) if step == window else None,
        tokens=count,
        windows=len(values),
    )


def _window_log_probs(
    model: CausalModel, windows: list[list[int]], fresh: list[int], steering: Steering | None
) -> list[NDArray[np.float64]]:
    """Return the log probabilities of each window's tokens from position `fresh` on."""
    from evenhand.models.huggingface import Groups, scores
    from evenhand.models.scoring import TokenSequences

    contexts = [steering.front, *(steering.front + text for text in steering.contexts)] if steering else [""]
    leads = model.tokenizer(contexts, add_special_tokens=False)["input_ids"]
    longest = max(map(len, leads)) + max(map(len, windows))
    if model.longest is not None and longest > model.longest:
        raise UsageError(
            f"The longest steering context and one window together have {longest} tokens, but the model reads at most "
            f"{model.longest}.",
            f"Give window={model.longest - max(map(len, leads))} or less.",
        )
    if steering is not None:
        groups = Groups()
        for tokens, first in zip(windows, fresh, strict=True):
            places = [np.arange(first, len(tokens)) + len(lead) for lead in leads]
            groups.add([[*lead, *tokens] for lead in leads], places)
        found, unfit = scores(model.model, model.writer, model.scorer, groups, steering)
        if unfit:
            raise Unsupported(
                "One window of tokens does not fit in memory.", "Give a smaller window, such as window=512."
            )
        return [part.astype(np.float64) for part in found]
    lengths = list(map(len, windows))
    is_scored = np.concatenate([np.arange(n) >= first for n, first in zip(lengths, fresh, strict=True)])
    sequences = TokenSequences(
        ids=np.array([token for tokens in windows for token in tokens], dtype=np.int32),
        offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        scored=is_scored,
        starts=np.zeros(0, dtype=np.uint32),
        errors=[None] * len(windows),
        details=[None] * len(windows),
    )
    flat, lacking = model.scorer.score(sequences)
    if lacking.any():
        raise Unsupported(
            "One window of tokens does not fit in memory.", "Give a smaller window, such as window=512."
        )
    parts = np.split(flat.astype(np.float64), np.cumsum(lengths)[:-1])
    return [part[first:] for part, first in zip(parts, fresh, strict=True)]
