"""Simulate the outcomes of units (such as prompts) of the groups of an axis."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import betaincinv

from evenhand.stats.arrays import Floats

_PLACES, _FEWER, _DIFFERENCES = (np.arange(256) + 0.5) / 256, (np.arange(64) + 0.5) / 64, 25


@dataclass(frozen=True)
class SimulationDesign:
    """Design of simulated data sets.

    Attributes
    ----------
    sizes : tuple of int
        Number of units (such as prompts) of each group.
    samples : int
        Number of responses per unit. 0: values are numbers with SD 1.
    crossed : bool
        True if units of all groups share strata.
    phi : float
        Variance of a unit divided by that of a Bernoulli trial. If groups share strata, differences between strata are
        left out.
    level : float
        Significance level of the axis.
    guarded : bool
        True if intervals are cautious (see `GroupLimits`).
    common : float
        Variance that differences between strata add, divided by that of a Bernoulli trial (see `rates_of_prompts`).
    supported : bool
        True if the test allows for unequal variances of prompts (see `Supports`).
    """

    sizes: tuple[int, ...]
    samples: int
    crossed: bool
    phi: float
    level: float
    guarded: bool
    common: float = 0.0
    supported: bool = False


def rates_of_prompts(rate: float, correlation: float, places: Floats = _PLACES) -> Floats:
    """Return the rate of each prompt in a group with this mean rate, in the shape of `places`.

    Prompts have a beta distribution with a given correlation of responses (ICC). `places` are the ranks of prompts from
    0 to 1, which are the same for every group. A difference of two groups therefore varies between prompts: prompts
    with a rate near 0 or 1 cannot change as much as others.

    >>> women, men = rates_of_prompts(0.3, 0.4), rates_of_prompts(0.5, 0.4)
    >>> round(float((men - women).mean()), 2), round(float((men - women).std()), 2)
    (0.2, 0.1)
    """
    strength = 1 / correlation - 1
    kept = min(max(rate, 1e-6), 1 - 1e-6)
    shape = (kept * strength, (1 - kept) * strength)
    if places.size <= _PLACES.size:
        return np.asarray(betaincinv(*shape, places))
    return np.asarray(np.interp(places, _PLACES, betaincinv(*shape, _PLACES)))


@lru_cache(maxsize=1024)
def variance_of_difference(base: float, correlation: float, both: bool = False) -> tuple[Floats, Floats]:
    """Return differences d of two groups (differences,), and the variance of each over prompts (differences,).

    One group has the rate `base`, and the other a rate that is d higher. With `both`, the first group is d lower
    instead (but at least 0), so that they differ by up to 2 d. `correlation` is as in `rates_of_prompts`.

    >>> d, variance = variance_of_difference(0.3, 0.4)
    >>> float(np.interp(0.2, d, variance).round(3))
    0.01
    """
    d = (1 - base) * np.linspace(0, 1, _DIFFERENCES) ** 2
    low, high = (
        np.stack([rates_of_prompts(rate, correlation, _FEWER) for rate in rates.tolist()])
        for rates in (np.maximum(base - d, 0) if both else np.full(_DIFFERENCES, base), base + d)
    )
    return d, np.var(high - low, axis=1)


def simulated_values(
    drawn: SimulationDesign, of_groups: Floats, shape: tuple[int, int], generator: np.random.Generator
) -> Floats:
    rates, phi = np.repeat(of_groups, drawn.sizes), drawn.phi
    if drawn.samples == 0:
        return np.asarray(rates + generator.normal(size=shape))
    if drawn.common:
        places = generator.random((shape[0], max(drawn.sizes)))
        known = {rate: rates_of_prompts(rate, drawn.common, places) for rate in set(of_groups.tolist())}
        parts = zip(of_groups.tolist(), drawn.sizes, strict=True)
        rates = np.concatenate([known[rate][:, :size] for rate, size in parts], axis=1)
        phi = min(phi / (1 - drawn.common), 1.0)
    least = 1 / drawn.samples
    mean = np.clip(rates, 1e-9, 1 - 1e-9)
    if phi >= 1 - 1e-6:
        return (generator.random(shape) < mean).astype(np.float64)
    if phi > least + 1e-6:
        strength = (1 - least) / (phi - least) - 1
        mean = generator.beta(mean * strength, (1 - mean) * strength, size=shape)
    elif (
        phi < 0.9 * least
    ):  # less than independent responses would vary: strata explain a part of their variance
        strength = 1 / phi - 1
        return generator.beta(mean * strength, (1 - mean) * strength, size=shape)
    return generator.binomial(drawn.samples, mean, size=shape) / drawn.samples
