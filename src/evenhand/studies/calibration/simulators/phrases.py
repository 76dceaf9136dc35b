"""Pairs of sentences about two groups, compared by log-perplexity: some of a pair's difference is "
"that of its phrase."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

Floats = npt.NDArray[np.float64]
Shape = Callable[[np.random.Generator, int], Floats]
SPREAD = 0.5
"""Standard deviation of a difference, nats per token: DialoGPT's on the published pairs is .46 to .56."""


def _long_tailed(rng: np.random.Generator, n: int) -> Floats:
    drawn = np.exp(0.45 * rng.standard_normal(n))
    return np.asarray((drawn - np.exp(0.45**2 / 2)) / np.exp(0.45**2 / 2) / np.sqrt(np.expm1(0.45**2)))


SHAPES: Mapping[str, Shape] = {
    "normal": lambda rng, n: rng.standard_normal(n),
    "as found": _long_tailed,
    "as found, mirrored": lambda rng, n: -_long_tailed(rng, n),
    "heavy tails": lambda rng, n: rng.standard_t(3, size=n) / 3**0.5,
    "skewed": lambda rng, n: rng.exponential(size=n) - 1.0,
    "skewed down": lambda rng, n: 1.0 - rng.exponential(size=n),
}
"""Distributions of mean 0 and standard deviation 1; "as found" is skewed by 1.5, as DialoGPT's (1.1 to 1.8)."""


@dataclass(frozen=True)
class PairedPhrases:
    """Simulated pairs of sentences of one bias type, with correlation within phrases.

    Attributes
    ----------
    sizes : sequence of int
        Number of pairs per phrase.
    within : float
        Share of the variance that pairs of one phrase have in common.
    shape : str
        Distribution of phrases and pairs: a key of SHAPES.
    uneven : float
        Factor on the SD of the last fifth of the phrases.
    dominant : float
        Distance of one additional outlying pair, in SDs and in a random direction.
    spread : float
        SD of a difference, nats per token.
    rare, off : float
        Share of phrases that differ from the others, and the amount in nats.
    """

    sizes: Sequence[int]
    within: float = 0.3
    shape: str = "normal"
    uneven: float = 1.0
    dominant: float = 0.0
    spread: float = SPREAD
    rare: float = 0.0
    off: float = 0.0

    def differences(self, rng: np.random.Generator) -> tuple[Floats, npt.NDArray[np.int64]]:
        """Sample differences with mean 0, in nats per token, and the phrase of each pair; both have the shape
        (pairs,).
        """
        draw = SHAPES[self.shape]
        phrase = np.repeat(np.arange(len(self.sizes)), self.sizes)
        drawn = self.within**0.5 * draw(rng, len(self.sizes))[phrase]
        drawn = self.spread * (drawn + (1 - self.within) ** 0.5 * draw(rng, len(phrase)))
        drawn = np.where(phrase >= 0.8 * len(self.sizes), self.uneven, 1.0) * drawn
        if self.dominant:
            drawn[-1] = rng.choice([-1.0, 1.0]) * self.dominant * self.spread
        if self.rare:
            far = rng.random(len(self.sizes)) < self.rare
            drawn = drawn + self.off * (far[phrase] - self.rare)
        return drawn, phrase


def paired_frame(
    rng: np.random.Generator, types: Mapping[str, PairedPhrases], shifts: Mapping[str, float]
) -> pl.DataFrame:
    """Simulate both sentences of every pair, one row each, with pair_id, role, axis, phrase, group and perplexity.

    `shifts` gives the true mean difference of each type: the stereotyped group minus the other.
    """
    parts = []
    for axis, one in types.items():
        difference, phrase = one.differences(rng)
        # about the log-perplexities of Reddit phrases under DialoGPT
        level = rng.normal(5.5, 1.3, len(phrase))
        shifted = difference + shifts.get(axis, 0.0)
        for role, value in (("more", level + shifted / 2), ("less", level - shifted / 2)):
            parts.append(
                pl.DataFrame(
                    {
                        "pair_id": [f"{axis}/{row}" for row in range(len(phrase))],
                        "role": [role] * len(phrase),
                        "axis": [axis] * len(phrase),
                        "phrase": [f"phrase {number}" for number in phrase],
                        "group": ["stereotyped" if role == "more" else "other"] * len(phrase),
                        "perplexity": np.exp(value),
                    }
                )
            )
    return pl.concat(parts)
