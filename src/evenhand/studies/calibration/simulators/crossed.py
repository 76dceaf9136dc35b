"""Simulate judged answers to crossed templates, nouns and descriptors, each with separate effects."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

Floats = npt.NDArray[np.float64]
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(41)


def mean_rate(position: npt.ArrayLike, spread: float) -> Floats:
    """Return the mean of logistic(position + spread * z) over a standard normal z (by Gauss-Hermite quadrature).

    >>> round(float(mean_rate(0.0, 2.0)), 6)
    0.5
    """
    where = np.asarray(position, float)[..., None] + spread * NODES
    means: Floats = (1 / (1 + np.exp(-where))) @ WEIGHTS / WEIGHTS.sum()
    return means


def intercept(rates: npt.ArrayLike, spread: float) -> Floats:
    """Return the logit intercept at which `mean_rate` equals a rate strictly between 0 and 1 (by bisection)."""
    wanted = np.asarray(rates, float)
    low, high = np.full(wanted.shape, -40.0), np.full(wanted.shape, 40.0)
    for _ in range(60):
        middle = (low + high) / 2
        below = mean_rate(middle, spread) < wanted
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    found: Floats = (low + high) / 2
    return found


@dataclass(frozen=True)
class CrossedRates:
    """One axis in a crossed design: every descriptor with every template and noun.

    `rates` are the true mean rates of the descriptors (descriptors,). SDs are on the logit scale: main effects of
    templates and nouns, their interactions with descriptors, and single prompts. With `gender`, nouns alternate between
    "female" and "male", whose logits differ by `contrast`.
    """

    name: str
    rates: Sequence[float]
    templates: int = 10
    nouns: int = 6
    samples: int = 1
    template_sd: float = 0.5
    noun_sd: float = 0.3
    by_template: float = 0.0
    by_noun: float = 0.0
    prompt_sd: float = 0.0
    contrast: float = 0.0

    @property
    def descriptors(self) -> list[str]:
        """Return the names of the descriptors."""
        return [f"{self.name} {number:03d}" for number in range(len(self.rates))]

    @property
    def spread(self) -> float:
        """Return the SD of all random effects together in the logit of a prompt."""
        parts = (self.template_sd, self.noun_sd, self.by_template, self.by_noun, self.prompt_sd)
        return float(np.sqrt(sum(part**2 for part in parts)))


def crossed_judgements(rng: np.random.Generator, axes: Sequence[CrossedRates]) -> pl.DataFrame:
    """Simulate classified responses, one row per sample.

    The table has the columns axis, group, descriptor, template, noun, gender, prompt_id, sample and negative. The main
    effects of templates and nouns are the same on all axes of equal size.
    """
    shared: dict[tuple[str, int, float], Floats] = {}

    def effects(kind: str, count: int, sd: float) -> Floats:
        return shared.setdefault((kind, count, sd), rng.normal(0, sd, count))

    parts = []
    for axis in axes:
        shape = (len(axis.rates), axis.templates, axis.nouns)
        gender = np.arange(axis.nouns) % 2
        logit = (
            intercept(axis.rates, axis.spread)[:, None, None]
            + effects("template", axis.templates, axis.template_sd)[None, :, None]
            + (effects("noun", axis.nouns, axis.noun_sd) + axis.contrast * (0.5 - gender))[None, None, :]
            + rng.normal(0, axis.by_template, (shape[0], shape[1], 1))
            + rng.normal(0, axis.by_noun, (shape[0], 1, shape[2]))
            + rng.normal(0, axis.prompt_sd, shape)
        )
        chance = np.repeat((1 / (1 + np.exp(-logit))).ravel(), axis.samples)
        where = np.repeat(np.arange(logit.size), axis.samples)
        descriptor, template, noun = np.unravel_index(where, shape)
        names = pl.Series("descriptor", axis.descriptors).gather(descriptor)
        parts.append(
            pl.DataFrame(
                {
                    "axis": pl.repeat(axis.name, len(where), eager=True),
                    "group": names.alias("group"),
                    "descriptor": names,
                    "template": pl.Series([f"template {i:02d}" for i in range(axis.templates)]).gather(
                        template
                    ),
                    "noun": pl.Series([f"noun {i:02d}" for i in range(axis.nouns)]).gather(noun),
                    "gender": pl.Series(["female", "male"]).gather(gender[noun]),
                    "prompt_id": pl.Series(where).cast(pl.String),
                    "sample": np.tile(np.arange(axis.samples, dtype=np.uint16), logit.size),
                    "negative": rng.random(len(where)) < chance,
                }
            ).with_columns(prompt_id=pl.lit(f"{axis.name}/") + pl.col("prompt_id"))
        )
    return pl.concat(parts)
