"""Simulate the power of the whole procedure (permutations and intervals) if there are few units.

With some dozens of units, neither normal tails nor a common critical value predict the power. The permutation p depends
on the individual outcomes, and intervals are wide.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

import numpy as np
from scipy.special import ndtri

from evenhand.stats.arrays import Floats
from evenhand.stats.disparity.drawn import SimulatedTests, SimulationDesign, simes_of_rows
from evenhand.stats.disparity.limits import KNOWN
from evenhand.stats.power import POWER

FEW_UNITS = 100
"""Number of units of an axis up to which minimum detectable effects of groups are simulated."""
FEW_OF_AXIS = 300
"""Number of units of an axis up to which its minimum detectable spread is simulated."""
_SETS, _VALUES, _SIZES = 200, 500_000, 2
_ALPHA = 0.05
_REACHED, _NEAR = 2.0, 0.25
"""Normal quantile that a test must reach, and distance from the quantile of 80% power at which the search ends."""
_ROWS, _LEAST_SETS = 720, 64
"""Number of groups in all simulated data sets together if prompts have several responses, and fewest data sets."""


def simulated_differences(drawn: SimulationDesign, base: float, start: Floats) -> Floats:
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
        found = _solve_difference(
            drawn, round(base, 2), place, round(guess, 1) if np.isfinite(guess) else -1.0
        )
        ratios.append(found / guess if np.isfinite(guess) else found)
    nearest = np.abs(np.log(sizes)[:, None] - np.log(kinds)[None, :]).argmin(axis=1)
    ratio = np.array(ratios)[nearest]
    result = np.where(np.isfinite(start), start * ratio, ratio)
    room = np.inf if drawn.samples == 0 else 1 - base
    return np.where((sizes < 2) | (result > room + 1e-9), np.nan, result)


@lru_cache(maxsize=4096)
def _solve_difference(drawn: SimulationDesign, base: float, place: int, guess: float) -> float:
    base = max(base, 0.5 / sum(drawn.sizes)) if drawn.samples else base
    room = 1 - base if drawn.samples else 1e3
    guess = min(guess if guess > 0 else room / 1.6, room)
    shift = np.zeros(len(drawn.sizes))
    shift[place] = 1.0
    return _solve_by_steps(lambda d: _power(drawn, base, shift * d, place), guess, room)


def simulated_spread(drawn: SimulationDesign, base: float, start: float) -> float:
    """Return the SD of group rates at which the axis is significant in 80% of simulated data sets; NaN if none is.

    Half of the groups are above the base rate and half below, at 0 if they cannot be lower.

    Parameters
    ----------
    base : float
        Mean rate of the groups, at most one half.
    start : float
        First guess, or NaN.
    """
    guess = float(f"{start:.1g}") if start > 0 else -1.0
    return _solve_spread(replace(drawn, sizes=tuple(sorted(drawn.sizes))), round(base, 2), guess)


@lru_cache(maxsize=4096)
def _solve_spread(drawn: SimulationDesign, base: float, guess: float) -> float:
    base = max(base, 0.5 / sum(drawn.sizes)) if drawn.samples else base
    room = 1 - base if drawn.samples else 1e3
    signs = np.where(np.arange(len(drawn.sizes)) % 2 == 0, 1.0, -1.0)

    def means(d: float) -> Floats:
        return np.maximum(base + d * signs, 0) if drawn.samples else d * signs

    start = guess / float(np.std(signs, ddof=1)) if guess > 0 else room / 1.6
    if (
        drawn.samples and start > base
    ):  # the lower groups cannot be below 0, so the higher ones must be higher
        start = min(2 * start - base, room)
    found = _solve_by_probit(lambda d: _power_of_axis(drawn, means(d)), start, room)
    return float(np.std(means(found), ddof=1))


def _solve_by_steps(power: Callable[[float], float], guess: float, room: float) -> float:
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


def _solve_by_probit(power: Callable[[float], float], guess: float, room: float) -> float:
    """Return the effect at which the power is 0.8; NaN if none has that power. It needs two or three evaluations.

    The normal quantile of the power is about linear in the effect.
    """
    goal, reached = float(ndtri(POWER)), _REACHED
    low, high = (0.0, -reached), (np.inf, np.inf)
    effect = min(guess, room)
    for _ in range(8):
        quantile = float(ndtri(np.clip(power(effect), 0.02, 0.995)))
        if quantile < goal and effect >= room:
            return float("nan")
        tried = (effect, quantile)
        low, high = (tried, high) if quantile < goal else (low, tried)
        known = low if np.isinf(high[0]) else high
        slope = max((known[1] + reached) / known[0], 0.5 / known[0])
        if 0 < low[0] < high[0] < np.inf:
            slope = (high[1] - low[1]) / (high[0] - low[0])
            known = low
        needed = known[0] + (goal - known[1]) / slope
        if abs(quantile - goal) <= _NEAR:
            return min(needed, room)
        effect = min(float(np.clip(needed, effect / 1.6, 1.6 * effect)), room)
    return min(needed, room) if high[0] < np.inf else float("nan")


def _power(drawn: SimulationDesign, base: float, shift: Floats, place: int) -> float:
    """Return the share of simulated data sets in which the group at `place` is significant."""
    groups = len(drawn.sizes)
    deals = int(np.clip(15 / drawn.level, 299, 1_999))
    sets = int(np.clip(_VALUES // (deals * groups), 60, _SETS))
    tests = SimulatedTests.simulate(drawn, base + shift, sets, deals)
    moved = tests.mover_p
    p = np.maximum(tests.p, moved)
    axis_p = tests.axis_p
    if drawn.guarded:
        axis_p = np.maximum(axis_p, simes_of_rows(moved))
    if groups == 2:
        axis_p = np.maximum(axis_p, p.max(axis=1))
    ordered = np.sort(p, axis=1) <= _ALPHA * np.arange(1, groups + 1) / groups + 1e-12
    last = np.where(ordered.any(axis=1), groups - np.argmax(ordered[:, ::-1], axis=1), 0)
    rank = (p < p[:, [place]]).sum(axis=1) + 1
    return float(np.mean((rank <= last) & (axis_p <= drawn.level + 1e-12)))


def _power_of_axis(drawn: SimulationDesign, of_groups: Floats) -> float:
    """Return the share of simulated data sets in which the axis is significant if groups have these rates."""
    groups = len(drawn.sizes)
    deals = int(np.clip(15 / drawn.level, 499, 999))
    most = _ROWS if drawn.supported else _VALUES // deals
    sets = int(np.clip(most // groups, _LEAST_SETS, _SETS))
    tests = SimulatedTests.simulate(drawn, of_groups, sets, deals)
    axis_p = tests.middle_p
    if drawn.supported:
        axis_p = tests.supported_p()
    elif drawn.guarded or (drawn.samples == 0 and min(drawn.sizes) < KNOWN):
        axis_p = np.maximum(axis_p, simes_of_rows(np.maximum(tests.p, tests.mover_p)))
    return float(np.mean(axis_p <= drawn.level + 1e-12))
