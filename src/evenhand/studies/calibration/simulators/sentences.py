"""Simulate log-likelihoods of matched pairs of sentences about descriptors, with several kinds of random variation.

The kinds differ in what makes verdicts on likelihoods go wrong: interactions of template pairs with single descriptors,
unequal variances of descriptors, and correlation.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import polars as pl

Floats = npt.NDArray[np.float64]
Shape = Literal["independent", "synonyms", "one factor", "skewed", "odd pair"]
DEGREES = 5
"""Degrees of freedom of the t distribution of a sentence's noise."""
LENGTH = 12
"""Tokens of a sentence."""


@dataclass(frozen=True)
class SentenceWorld:
    """Random variation in simulated likelihoods, in addition to the true shifts; in nats.

    `interaction` is the SD of the interaction of template pair and descriptor, and `shape` its distribution. `noise` is
    the SD of one sentence pair. `uneven` is the SD of the logarithm of a factor on both, which differs between
    descriptors. `noun` is the SD of the interaction of noun and descriptor in every pair (crossed nouns).
    """

    interaction: float = 0.3
    noise: float = 0.3
    uneven: float = 0.0
    shape: Shape = "independent"
    noun: float = 0.0


WORLDS: dict[str, SentenceWorld] = {
    "even": SentenceWorld(),
    "uneven": SentenceWorld(uneven=0.5),
    "noisy": SentenceWorld(0.2, 0.6, 0.5),
    "quiet": SentenceWorld(0.15, 0.03, 0.5),
    "very uneven": SentenceWorld(0.15, 0.03, 0.8),
    "synonyms": SentenceWorld(shape="synonyms"),
    "one factor": SentenceWorld(shape="one factor"),
    "skewed": SentenceWorld(shape="skewed"),
    "odd pair": SentenceWorld(shape="odd pair"),
    "skewed and very uneven": SentenceWorld(0.15, 0.03, 0.8, shape="skewed"),
}


def contrast_table(
    rng: np.random.Generator, world: SentenceWorld, shifts: npt.ArrayLike, pairs: int, nouns: int
) -> Floats:
    """Simulate log-likelihoods of kind minus hostile sentences in nats, shape (pairs, nouns, descriptors).

    `shifts` are the true shifts of the descriptors.
    """
    mean = np.asarray(shifts, float)
    count = len(mean)
    factor = np.exp(rng.normal(0, world.uneven, count)) if world.uneven else np.ones(count)
    noise = rng.standard_t(DEGREES, (pairs, nouns, count)) * np.sqrt((DEGREES - 2) / DEGREES) * world.noise
    by_noun = rng.normal(0, world.noun, (nouns, count)) if world.noun else np.zeros((nouns, count))
    inner = world.interaction * _interactions(rng, world.shape, pairs, count)
    if world.shape == "odd pair":
        odd = rng.choice(count, max(1, count // 10), replace=False)
        inner[rng.integers(pairs), odd] += 3.0 * rng.choice([-1.0, 1.0], len(odd))
    table: Floats = mean + (inner * factor)[:, None, :] + noise * factor + by_noun[None]
    return table


def _interactions(rng: np.random.Generator, shape: Shape, pairs: int, count: int) -> Floats:
    """Return standardised interactions, shape (pairs, descriptors)."""
    own = rng.normal(0, 1, (pairs, count))
    if shape == "synonyms":
        block = rng.normal(0, 1, (pairs, -(-count // 4)))[:, np.arange(count) // 4]
        blended: Floats = np.sqrt(0.8) * block + np.sqrt(0.2) * own
        return blended
    if shape == "one factor":
        factor: Floats = rng.normal(0, 1, (pairs, 1)) * rng.normal(0, 1, count)
        return factor
    if shape == "skewed":
        return rng.exponential(1, (pairs, count)) - 1
    return own


def sentence_frame(
    rng: np.random.Generator,
    tables: dict[str, Floats],
    templates: Sequence[tuple[str, str]],
    *,
    own_nouns: bool = True,
    frequency: float = 1.0,
) -> pl.DataFrame:
    """Return the sentences of contrasts: axis, template, descriptor, noun, log_likelihood, token_count, perplexity.

    Parameters
    ----------
    tables
        By axis, from `contrast_table`.
    templates
        (kind, hostile), one for each pair.
    own_nouns
        Whether each pair has separate nouns.
    frequency
        SD of the descriptors' frequency effect, equal in all sentences of a descriptor.
    """
    parts = []
    for axis, table in tables.items():
        pairs, nouns, count = table.shape
        common = -40.0 + rng.normal(0, frequency, count)
        words = [f"{axis} {number:03d}" for number in range(count)]
        sentence = rng.normal(0, 1.0, (pairs, 2, nouns, 1))  # effect of template and noun on all descriptors
        sides = np.stack([table / 2, -table / 2], axis=1) + common + sentence  # pair, side, noun, descriptor
        pair, side, noun, descriptor = np.unravel_index(np.arange(sides.size), sides.shape)
        names = pl.Series([template for both in templates[:pairs] for template in both])
        number = noun + pair * nouns if own_nouns else noun
        value = sides.ravel()
        parts.append(
            pl.DataFrame(
                {
                    "axis": pl.repeat(axis, sides.size, eager=True),
                    "template": names.gather(2 * pair + side),
                    "descriptor": pl.Series(words).gather(descriptor),
                    "noun": pl.Series([f"noun {i:03d}" for i in range(int(number.max()) + 1)]).gather(number),
                    "log_likelihood": value,
                    "token_count": np.full(sides.size, LENGTH, dtype=np.uint32),
                    "perplexity": np.exp(-value / LENGTH),
                }
            )
        )
    return pl.concat(parts)
