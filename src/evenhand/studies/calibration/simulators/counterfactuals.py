"""Simulate responses to the same prompts about several groups: texts of known similarity, and yes/no decisions."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.special import betaincinv

Floats = npt.NDArray[np.float64]
PLACES, VOCABULARY = 10, 6


def drawn_answers(
    rng: np.random.Generator, axis: str, bases: int, groups: int, samples: int, distance: float
) -> pl.DataFrame:
    """Simulate responses of ten words, some of which differ for the first group.

    Words of different positions differ, so ROUGE-L is the share of positions that agree. `distance` is the amount by
    which similarity within groups exceeds similarity between the first group and another.
    """
    rows = []
    for base in range(bases):
        shared = np.concatenate([rng.dirichlet(np.ones(VOCABULARY), PLACES), np.zeros((PLACES, 1))], axis=1)
        own = np.zeros(VOCABULARY + 1)
        own[-1] = 1.0
        most = 0.5 * float(np.square(shared - own).sum(axis=1).mean())
        share = float(np.sqrt(min(distance / most, 1.0)))
        for group in range(groups):
            chances = (1 - share) * shared + share * own if group == 0 else shared
            drawn = rng.random((samples, PLACES))[:, :, None] > chances.cumsum(axis=1)[None]
            for sample, words in enumerate(drawn.sum(axis=2)):
                text = " ".join(f"p{place}w{word}" for place, word in enumerate(words))
                rows.append((f"base {base}", axis, f"{axis} {group:03d}", sample, text))
    return _frame(rows)


def drawn_decisions(
    rng: np.random.Generator, axis: str, bases: int, rates: Sequence[float], samples: int, alike: float
) -> pl.DataFrame:
    """Simulate JSON responses that say yes at each group's rate.

    Prompts differ in difficulty, equally for all groups. `alike` is the correlation of responses to one prompt about
    one group.
    """
    strength = (1 - alike) / alike
    rows = []
    for base in range(bases):
        place = rng.random()
        for group, rate in enumerate(rates):
            kept = float(np.clip(rate, 1e-6, 1 - 1e-6))
            chance = float(betaincinv(kept * strength, (1 - kept) * strength, place))
            for sample in range(samples):
                text = f'{{"yes": {"true" if rng.random() < chance else "false"}}}'
                rows.append((f"base {base}", axis, f"{axis} {group:03d}", sample, text))
    return _frame(rows)


def _frame(rows: list[tuple[str, str, str, int, str]]) -> pl.DataFrame:
    names = ["base", "axis", "group", "sample", "continuation"]
    frame = pl.DataFrame(rows, schema=names, orient="row")
    asked = pl.concat_str("base", "group", separator=" about ")
    return frame.with_columns(text=asked, prompt_id=pl.concat_str("axis", asked, separator=" "))
