"""Simulate the power of the whole procedure (permutations and intervals) if there are few units.

With some dozens of units, neither normal tails nor a common critical value predict the power. The permutation p depends
on the individual outcomes, and intervals are wide.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import betaincinv, ndtr

from evenhand.stats.arrays import Codes, Floats
from evenhand.stats.disparity.limits import COINS, GroupLimits, learnt_clustering
from evenhand.stats.power import POWER

FEW_UNITS = 100
"""Number of units of an axis up to which minimum detectable effects are simulated."""
_SETS, _VALUES, _SIZES = 200, 500_000, 2
_PLACES, _FEWER, _DIFFERENCES = (np.arange(256) + 0.5) / 256, (np.arange(64) + 0.5) / 64, 25
_Z_GRID = np.concatenate([np.linspace(0, 4.5, 28), [6.0, 8.0, 12.0, 25.0]])
_ALPHA = 0.05


@dataclass(frozen=True)
class Drawn:
    """Design of the simulated data.

    ``sizes`` are the numbers of units of the groups. ``samples`` is the number of responses per unit (0: numbers with
    SD 1). ``crossed`` is True if units of all groups share strata. ``phi`` is the variance of a unit divided by that of
    a Bernoulli trial; if groups share strata, it leaves out the differences between strata. ``common`` is the variance
    that these differences add, divided by that of a Bernoulli trial (see `rates_of_prompts`). ``level`` is that of the
    axis. ``guarded`` is True for cautious intervals.
    """

    sizes: tuple[int, ...]
    samples: int
    crossed: bool
    phi: float
    level: float
    guarded: bool
    common: float = 0.0


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

    One group has the base rate and the other one that is d higher. both: one is d lower instead, at least 0, so that
    they differ by up to 2 d.

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


def simulated_differences(drawn: Drawn, base: float, start: Floats) -> Floats:
    """Return the difference of one group that is detected in 80% of simulated data sets (groups,); NaN if none is.

    Parameters
    ----------
    base : float
        Rate of the other groups, at most one half.
    start : numpy.ndarray, shape (groups,)
        First guesses, or NaN. If there are many different sizes, only some are simulated. The guesses for the others
        are corrected by the same factor as that of the nearest size.
    """
    sizes = np.array(drawn.sizes)
    kinds = np.unique(sizes[sizes > 1])
    if len(kinds) > _SIZES:
        kinds = np.unique(np.quantile(kinds, np.linspace(0, 1, _SIZES), method="nearest"))
    ratios = []
    for kind in kinds:
        place = int(np.flatnonzero(sizes == kind)[0])
        guess = float(start[place])
        found = _needed(drawn, round(base, 2), place, round(guess, 1) if np.isfinite(guess) else -1.0)
        ratios.append(found / guess if np.isfinite(guess) else found)
    nearest = np.abs(np.log(sizes)[:, None] - np.log(kinds)[None, :]).argmin(axis=1)
    ratio = np.array(ratios)[nearest]
    result = np.where(np.isfinite(start), start * ratio, ratio)
    room = np.inf if drawn.samples == 0 else 1 - base
    return np.where((sizes < 2) | (result > room + 1e-9), np.nan, result)


@lru_cache(maxsize=4096)
def _needed(drawn: Drawn, base: float, place: int, guess: float) -> float:
    base = max(base, 0.5 / sum(drawn.sizes)) if drawn.samples else base
    room = 1 - base if drawn.samples else 1e3
    guess = min(guess if guess > 0 else room / 1.6, room)
    shift = np.zeros(len(drawn.sizes))
    shift[place] = 1.0
    return _solved(lambda d: _power(drawn, base, shift * d, place), guess, room)


def _solved(power: Callable[[float], float], guess: float, room: float) -> float:
    """Return the effect at which the power is 0.8: search from the guess, then linear interpolation."""
    tried = {guess: power(guess)}
    up = tried[guess] < POWER
    reached = guess
    for _ in range(20):
        if (tried[reached] < POWER) != up or (up and reached >= room):
            break
        reached = min(reached * 1.12, room) if up else reached / 1.12
        tried[reached] = power(reached)
    effects = np.array(sorted(tried))
    powers = np.maximum.accumulate(np.array([tried[effect] for effect in effects]))
    if powers[-1] < POWER:
        return float("nan")
    above = int(np.argmax(powers >= POWER))
    if above == 0:
        return float(effects[0])
    before, after = powers[above - 1], powers[above]
    share = (POWER - before) / max(after - before, 1e-9)
    return float(effects[above - 1] + share * (effects[above] - effects[above - 1]))


def _power(drawn: Drawn, base: float, shift: Floats, place: int) -> float:
    """Return the share of simulated data sets in which the group at `place` is significant."""
    sizes = np.array(drawn.sizes)
    groups, total = len(sizes), int(sizes.sum())
    deals = int(np.clip(15 / drawn.level, 299, 1_999))
    sets = int(np.clip(_VALUES // (deals * groups), 60, _SETS))
    generator = np.random.default_rng(total)
    codes = np.repeat(np.arange(groups), sizes)
    values = _values(drawn, base + shift, (sets, total), generator)
    means = np.add.reduceat(values, np.cumsum(sizes) - sizes, axis=1) / sizes
    left = values
    strata = np.concatenate([np.arange(size) for size in sizes])
    if drawn.crossed:
        left = values - np.stack([values[:, strata == s].mean(axis=1) for s in range(sizes.max())])[strata].T
    freedom = total - groups - (int(sizes.max()) - 1 if drawn.crossed else 0)
    tested = _deal_p(
        left, codes, strata if drawn.crossed else np.zeros(total, dtype=np.int64), freedom, deals, generator
    )
    moved = _mover_p(drawn, values, left, means, codes, freedom)
    p = np.maximum(tested[0], moved)
    axis_p = tested[1]
    if drawn.guarded:
        axis_p = np.maximum(axis_p, (np.sort(moved, axis=1) * groups / np.arange(1, groups + 1)).min(axis=1))
    if groups == 2:
        axis_p = np.maximum(axis_p, p.max(axis=1))
    ordered = np.sort(p, axis=1) <= _ALPHA * np.arange(1, groups + 1) / groups + 1e-12
    last = np.where(ordered.any(axis=1), groups - np.argmax(ordered[:, ::-1], axis=1), 0)
    rank = (p < p[:, [place]]).sum(axis=1) + 1
    return float(np.mean((rank <= last) & (axis_p <= drawn.level + 1e-12)))


def _values(
    drawn: Drawn, of_groups: Floats, shape: tuple[int, int], generator: np.random.Generator
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
    elif phi < 0.9 * least:  # strata explain a part of the variance of responses
        strength = 1 / phi - 1
        return generator.beta(mean * strength, (1 - mean) * strength, size=shape)
    return generator.binomial(drawn.samples, mean, size=shape) / drawn.samples


def _deal_p(
    values: Floats, codes: Codes, strata: Codes, freedom: int, deals: int, generator: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return p of each group (data sets, groups) and of the axis (data sets,), with the same permutations for all data
    sets.
    """
    groups = int(codes.max()) + 1
    sizes = np.bincount(codes).astype(np.float64)
    total = len(codes)
    by_stratum = np.lexsort((codes, strata))
    keys = np.sort(strata) + generator.random((deals, total)) * 0.999
    labels = np.empty((deals + 1, total), dtype=np.int64)
    labels[0] = codes
    labels[1:, by_stratum] = codes[by_stratum][np.argsort(keys, axis=1)]
    places = (np.arange(deals + 1)[:, None] * groups + labels).ravel()
    assigned = np.zeros((total, (deals + 1) * groups), dtype=np.float32)
    assigned[np.tile(np.arange(total), deals + 1), places] = 1 / np.tile(sizes, deals + 1)[places]
    centred = values - values.mean(axis=1, keepdims=True)
    means = (centred.astype(np.float32) @ assigned).reshape(len(values), deals + 1, groups)
    between = np.square(means) @ sizes.astype(np.float32)
    within = np.maximum(np.square(centred).sum(axis=1, keepdims=True) - between, 1e-7) / max(freedom, 1)
    inverse = 1 / sizes
    error = (inverse + (inverse.sum() - inverse) / (groups - 1) ** 2).astype(np.float32)
    z = np.abs(means - means.mean(axis=2, keepdims=True)) * (groups / (groups - 1))
    z = np.round(z / np.sqrt(within.astype(np.float32)[:, :, None] * error), 4)
    spread = np.round(between / within, 4)
    p = np.empty((len(values), groups))
    for kind in np.unique(sizes):
        members = np.flatnonzero(sizes == kind)
        for number, drawn in enumerate(np.sort(z[:, :, members].reshape(len(values), -1), axis=1)):
            below = np.searchsorted(drawn, z[number, 0, members], side="left")
            p[number, members] = (drawn.size - below) / drawn.size
    smaller = np.minimum(_ranks(spread), _ranks(z.max(axis=2)))
    return p, np.mean(smaller <= smaller[:, [0]] + 1e-9, axis=1)


def _ranks(values: Floats) -> Floats:
    """Return for each value the share of its row that is at least as large."""
    ordered = np.sort(values, axis=1)
    below = [np.searchsorted(row, own, side="left") for row, own in zip(ordered, values, strict=True)]
    return np.asarray(1 - np.array(below) / values.shape[1], dtype=np.float64)


def _mover_p(drawn: Drawn, values: Floats, left: Floats, means: Floats, codes: Codes, freedom: int) -> Floats:
    """Return the p of the MOVER intervals (data sets, groups)."""
    sets, groups = means.shape
    sizes = np.bincount(codes).astype(np.float64)
    squares = np.stack([values[:, codes == g].var(axis=1) * sizes[g] for g in range(groups)], axis=1)
    pooled = squares.sum(axis=1) / max(len(codes) - groups, 1)
    if drawn.crossed:
        centre = np.stack([left[:, codes == g].mean(axis=1) for g in range(groups)], axis=1)
        pooled = np.square(left - centre[:, codes]).sum(axis=1) / max(freedom, 1)
    own = np.divide(squares, sizes - 1, out=np.zeros_like(squares), where=sizes > 1)
    worth = np.broadcast_to(sizes, means.shape)
    if drawn.samples:
        coin = ((sizes - 1) * (means * (1 - means) + own / sizes)).sum(axis=1)
        raw = np.divide(pooled * (len(codes) - groups), coin, out=np.ones(sets), where=coin > 1e-12)
        phi = learnt_clustering(raw, 1 / drawn.samples, drawn.crossed)
        coins = 0.0 if drawn.crossed else COINS
        worth = sizes * ((freedom + coins) / (freedom * phi + coins))[:, None]
    limits = GroupLimits(
        means.ravel(),
        np.tile(sizes, sets),
        np.ones(sets * groups),
        np.ascontiguousarray(worth).ravel(),
        np.repeat(pooled, groups),
        own.ravel(),
        freedom,
        drawn.samples > 0,
        drawn.guarded,
    )
    low, high = limits.at(_Z_GRID)
    shape = (len(_Z_GRID), sets, groups)
    below = np.minimum(np.square(means - low.reshape(shape)), 1e6)
    above = np.minimum(np.square(high.reshape(shape) - means), 1e6)
    share = 1 / (groups - 1) ** 2
    down = np.sqrt(below + share * (above.sum(axis=2, keepdims=True) - above))
    up = np.sqrt(above + share * (below.sum(axis=2, keepdims=True) - below))
    difference = (means - means.mean(axis=1, keepdims=True)) * groups / (groups - 1)
    facing = np.where(difference > 0, down, up)
    place = np.clip((facing < np.abs(difference)).sum(axis=0), 1, len(_Z_GRID) - 1)
    before = np.take_along_axis(facing, place[None] - 1, axis=0)[0]
    after = np.take_along_axis(facing, place[None], axis=0)[0]
    part = np.clip((np.abs(difference) - before) / np.maximum(after - before, 1e-12), 0, 1)
    reached = _Z_GRID[place - 1] + part * (_Z_GRID[place] - _Z_GRID[place - 1])
    return np.asarray(np.where(np.abs(difference) < 1e-9, 1.0, 2 * ndtr(-reached)))
