"""Judged responses of known truth: groups with rates, prompts that differ, samples of one prompt that hang together."""

import numpy as np
import polars as pl


def clustered(
    rng: np.random.Generator, rates: np.ndarray, prompts: int, samples: int, correlation: float
) -> pl.DataFrame:
    """group (g00, g01, ...), prompt_id and negative; chances of prompts are beta with this intraclass correlation."""
    strength = (1 - correlation) / correlation
    chance = rng.beta(rates[:, None] * strength, (1 - rates[:, None]) * strength, (len(rates), prompts))
    negative = rng.random((*chance.shape, samples)) < chance[:, :, None]
    return pl.DataFrame(
        {
            "group": np.repeat([f"g{i:02}" for i in range(len(rates))], prompts * samples),
            "prompt_id": np.repeat(np.arange(chance.size), samples),
            "negative": negative.ravel(),
        }
    )
