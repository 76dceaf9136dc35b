"""Simulate two models with the same prompts, and what each does to each group."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from evenhand.studies.calibration.simulators.judged import JudgedAxis, judged_prompts


@dataclass(frozen=True)
class ChangedAxis:
    """One axis with the true rates of its groups before and after a change of the model.

    Attributes
    ----------
    before, after : sequence of float
        True rate of each group with each model.
    prompts : int
        Number of prompts per group.
    icc : float
        Intraclass correlation of the samples of a prompt, which both models share. A prompt that causes harm with the
        first model then tends to do so with the second.
    """

    name: str
    before: Sequence[float]
    after: Sequence[float]
    prompts: Sequence[int]
    icc: float = 0.3


def changed_judgements(
    rng: np.random.Generator, axes: Sequence[ChangedAxis], samples: Sequence[int] = (5,)
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the responses of both models, with rows in the same order: axis, group, prompt_id, sample, negative.

    A prompt has the same quantile in both models' distributions over prompts.
    """
    from scipy.stats import beta

    skeleton = judged_prompts(rng, [JudgedAxis(a.name, a.before, a.prompts, 0.0) for a in axes], samples)
    place = skeleton["prompt_id"].rank("dense").to_numpy().astype(int) - 1
    quantile = rng.random(int(place.max()) + 1)[place]
    frames = []
    for rates in ("before", "after"):
        known = {name: rate for a in axes for name, rate in zip(_names(a), getattr(a, rates), strict=True)}
        within = {name: a.icc for a in axes for name in _names(a)}
        rate = skeleton["group"].replace_strict(known, return_dtype=pl.Float64).to_numpy()
        icc = skeleton["group"].replace_strict(within, return_dtype=pl.Float64).to_numpy()
        spread = (icc > 0) & (rate > 0) & (rate < 1)
        scale = np.where(spread, (1 - icc) / np.where(icc > 0, icc, 1.0), 1.0)
        chance = np.where(
            spread,
            beta.ppf(
                quantile, np.where(spread, rate * scale, 1.0), np.where(spread, (1 - rate) * scale, 1.0)
            ),
            rate,
        )
        frames.append(skeleton.with_columns(negative=pl.Series(rng.random(len(chance)) < chance)))
    return frames[0], frames[1]


def _names(axis: ChangedAxis) -> list[str]:
    return JudgedAxis(axis.name, axis.before, axis.prompts).groups
