"""Simulate tables of classified continuations: groups of prompts, correlated samples, and missing responses."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class JudgedAxis:
    """One axis with the true rates of its groups.

    Attributes
    ----------
    rates : array, shape (groups,)
        True rate of negative responses.
    prompts : array, shape (groups,)
        Number of prompts.
    icc : float or array, shape (groups,)
        Correlation of two samples of one prompt.
    tail : float or None
        Share of prompts that get nearly all of the negative responses. None: rates of prompts have a beta distribution.
    """

    name: str
    rates: Sequence[float]
    prompts: Sequence[int]
    icc: float | Sequence[float] = 0.3
    tail: float | None = None

    @property
    def groups(self) -> list[str]:
        """Return the names of the groups, zero-padded so that they sort by number."""
        return [f"{self.name} {number:03d}" for number in range(len(self.rates))]


def beta_rates(
    rng: np.random.Generator, rates: npt.ArrayLike, icc: npt.ArrayLike, size: int | None = None
) -> Floats:
    """Sample the rate of each prompt from a beta distribution around the group's rate.

    The variance is icc * rate * (1 - rate). `rates` and `icc` are broadcast; the result has their shape, or (size,).
    With an icc of 0, or a rate of 0 or 1, all prompts have the rate of the group.

    >>> beta_rates(np.random.default_rng(0), [0.1, 0.5], 0.0).tolist()
    [0.1, 0.5]
    """
    mean, within = np.broadcast_arrays(np.asarray(rates, float), np.asarray(icc, float))
    if size is not None:
        mean, within = np.broadcast_to(mean, size), np.broadcast_to(within, size)
    spread = (within > 0) & (mean > 0) & (mean < 1)
    scale = np.where(spread, (1 - within) / np.where(within > 0, within, 1), 1.0)
    drawn = rng.beta(np.where(spread, mean * scale, 1.0), np.where(spread, (1 - mean) * scale, 1.0))
    return np.where(spread, drawn, mean)


def judged_prompts(
    rng: np.random.Generator, axes: Sequence[JudgedAxis], samples: Sequence[int] = (5,)
) -> pl.DataFrame:
    """Simulate classified responses, one row per sample, with axis, group, prompt_id, sample and negative.

    `samples` are numbers of samples that the prompts of a group get in turn. For example, (25, 1) gives every second
    prompt one sample.
    """
    parts = []
    for axis in axes:
        sizes = np.asarray(axis.prompts)
        group = np.repeat(np.arange(len(sizes)), sizes)
        within = np.arange(len(group)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        rate = np.asarray(axis.rates, float)[group]
        if axis.tail is None:
            icc = np.broadcast_to(np.asarray(axis.icc, float), (len(sizes),))[group]
            chance = beta_rates(rng, rate, icc)
        else:  # a few prompts cause nearly all negative responses; the mean is still `rate`
            bad = rng.random(len(group)) < axis.tail
            hot = np.minimum(0.95, 0.95 * rate / axis.tail)
            chance = np.where(bad, hot, np.maximum(0.0, (rate - axis.tail * hot) / (1 - axis.tail)))
        each = np.asarray(samples)[within % len(samples)]
        row = np.repeat(np.arange(len(group)), each)
        number = np.arange(len(row)) - np.repeat(np.cumsum(each) - each, each)
        names = pl.Series("group", axis.groups)
        parts.append(
            pl.DataFrame(
                {
                    "axis": pl.repeat(axis.name, len(row), eager=True),
                    "group": names.gather(group[row]),
                    "prompt_id": pl.Series(row).cast(pl.String),
                    "sample": number.astype(np.uint16),
                    "negative": rng.random(len(row)) < chance[row],
                }
            ).with_columns(prompt_id=pl.lit(f"{axis.name}/") + pl.col("prompt_id"))
        )
    return pl.concat(parts)


def add_classifier_errors(
    rng: np.random.Generator,
    frame: pl.DataFrame,
    false_alarms: Sequence[float] | float,
    hits: Sequence[float] | float = 1.0,
) -> pl.DataFrame:
    """Add the errors of a classifier to the outcomes: false positives and true positives at the rates of each group.

    Rates are in the order of the group names. Returns the frame with `negative` as classified.
    """
    group = frame["group"].rank("dense").to_numpy().astype(int) - 1
    count = int(group.max()) + 1
    alarms = np.resize(np.asarray(false_alarms, float), count)[group]
    caught = np.resize(np.asarray(hits, float), count)[group]
    negative = frame["negative"].to_numpy()
    judged = rng.random(frame.height) < np.where(negative, caught, alarms)
    return frame.with_columns(negative=pl.Series(judged))


def left_out(
    rng: np.random.Generator, frame: pl.DataFrame, if_negative: float, if_harmless: float
) -> pl.DataFrame:
    """Set some outcomes to missing, more often negative ones or more often others, in the same way in every group."""
    negative = frame["negative"].to_numpy()
    gone = rng.random(frame.height) < np.where(negative, if_negative, if_harmless)
    return frame.with_columns(negative=pl.when(pl.Series(gone)).then(None).otherwise("negative"))
