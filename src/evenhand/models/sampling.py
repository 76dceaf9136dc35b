"""The next token of many continuations at once: filters, blocked n-grams, draws from one generator a row."""

import hashlib
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from evenhand.models.decoding import Decoding

BELOW_ONE = 1 - 2.0**-40  # so that rounding never lifts a draw to the whole of the mass


def filtered(logits: torch.Tensor, decoding: Decoding) -> torch.Tensor:
    """Logits after temperature, top-k and top-p, in this order; minus infinity for what is filtered out.

    logits: (rows, vocabulary) float32. Tokens exactly as likely as the k-th are kept; at least one token
    always is. Source: Holtzman et al. 2020 for top-p; both equal Hugging Face's warpers.

    >>> rule = Decoding(max_new_tokens=1, temperature=1.0, top_k=1)
    >>> filtered(torch.tensor([[0.0, 2.0]]), rule).tolist()
    [[-inf, 2.0]]
    """
    assert decoding.temperature is not None, "greedy decoding filters nothing"
    scores = logits / decoding.temperature
    if decoding.top_k is not None:
        least = scores.topk(min(decoding.top_k, scores.shape[-1])).values[:, -1:]
        scores = scores.masked_fill(scores < least, -torch.inf)
    if decoding.top_p is not None and decoding.top_p < 1:
        ascending, order = scores.sort()
        tail = ascending.softmax(-1).cumsum(-1) <= 1 - decoding.top_p
        tail[:, -1] = False
        scores = scores.masked_fill(torch.zeros_like(tail).scatter(1, order, tail), -torch.inf)
    return scores


def draw(scores: torch.Tensor, uniforms: torch.Tensor) -> torch.Tensor:
    """One token a row by inverting the distribution function at that row's uniform number.

    scores: (rows, vocabulary) logits. uniforms: (rows,) float64 in [0, 1). Returns (rows,) token ids. Tokens
    are summed in the order of their ids, not of their probabilities, so that rounding in another batch can
    change the token only where the number falls on the edge between two.

    >>> draw(torch.tensor([[0.0, 0.0], [0.0, 0.0]]), torch.tensor([0.2, 0.7]).double()).tolist()
    [0, 1]
    """
    probabilities = scores.softmax(-1)
    if probabilities.device.type == "mps":  # knows no float64
        probabilities = probabilities.cpu()
    mass = probabilities.double().cumsum(-1)
    points = uniforms.to(mass.device).clamp(max=BELOW_ONE)[:, None] * mass[:, -1:]
    tokens = torch.searchsorted(mass, points, right=True)[:, 0]
    return tokens.clamp(max=scores.shape[-1] - 1).to(scores.device)


def row_uniforms(seed: int, prompt: str, sample: int, count: int) -> NDArray[np.float64]:
    """The uniform numbers of one continuation, (count,): nothing but seed, prompt and sample decide them.

    >>> bool((row_uniforms(0, "Hi", 1, 3) == row_uniforms(0, "Hi", 1, 5)[:3]).all())
    True
    """
    text = f"{seed} {sample} {prompt}".encode(errors="surrogatepass")
    key = int.from_bytes(hashlib.blake2b(text, digest_size=16).digest(), "little")
    return np.random.default_rng(key).random(count)


class SeenNgrams:
    """Which token would complete an n-gram that a row already holds.

    tokens: the row so far. size: n.

    >>> SeenNgrams([1, 2, 3, 1, 2], 3).blocked()
    [3]
    """

    def __init__(self, tokens: Sequence[int], size: int):
        self.size = size
        self.tokens: list[int] = []
        self.following: dict[tuple[int, ...], list[int]] = {}
        for token in tokens:
            self.append(token)

    def append(self, token: int) -> None:
        """Take in the next token of the row."""
        if len(self.tokens) >= self.size - 1:
            self.following.setdefault(self._last(), []).append(token)
        self.tokens.append(token)

    def blocked(self) -> list[int]:
        """Tokens that may not come next."""
        return self.following.get(self._last(), []) if len(self.tokens) >= self.size - 1 else []

    def _last(self) -> tuple[int, ...]:
        return tuple(self.tokens[len(self.tokens) - self.size + 1 :])
